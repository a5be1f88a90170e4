import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { labelsIn } from '../plan/texts.ts';
import type { PlannedFault, Trap } from '../plan/post-plan.ts';
import type { TrapFault, WorkerFault } from '../plan/faults.ts';

// Processes that should die or be suspended share a folder with the run that planned it. A process takes a file by
// removing it, which only one process can do, and stores what it took before it dies, so nothing is counted twice.

type Mark = { readonly fault: WorkerFault; readonly marker: string } & Pick<
  PlannedFault,
  'platform' | 'part'
>;

const marksFolder = (folder: string): string => path.join(folder, 'marks');
const trapsFolder = (folder: string): string => path.join(folder, 'traps');
const deathsFolder = (folder: string): string => path.join(folder, 'deaths');
const aimsFolder = (folder: string): string => path.join(folder, 'aims');
const wishesFolder = (folder: string): string => path.join(folder, 'wishes');

/** Prepares the folder. */
export function openTraps(folder: string): void {
  for (const part of [marksFolder, trapsFolder, deathsFolder, aimsFolder, wishesFolder]) {
    mkdirSync(part(folder), { recursive: true });
  }
}

/** Applies the fault to the next worker that handles this part of the post at the fault's point. */
export function markPost(folder: string, marker: string, { id, ...planned }: PlannedFault): void {
  const { fault, platform, part } = planned;
  const mark = { fault: fault as WorkerFault, marker, platform, part } satisfies Mark;
  writeWhole(folder, path.join(marksFolder(folder), id), mark);
}

/** Applies the fault to the next process that reaches its point. */
export function setTrap(folder: string, { fault, id }: Omit<Trap, 'atMs'>): void {
  writeFileSync(path.join(trapsFolder(folder), `${slug(fault)}.${id}`), fault);
}

type Death = {
  /** The id of the mark or the trap. */
  readonly id: string;
  readonly fault: WorkerFault | TrapFault;
  /** The marker of the post that the process handled, or ''. */
  readonly marker: string;
  /** The process, if it was suspended. */
  readonly stopped?: { readonly pid: number; readonly platform: string };
};

/** The deaths and suspensions since the last call. */
export const takeDeaths = (folder: string): Death[] => takeAll(deathsFolder(folder));

function takeAll<T>(folder: string): T[] {
  return readdirSync(folder).map((name) => {
    const file = path.join(folder, name);
    const text = readFileSync(file, 'utf8');
    unlinkSync(file);
    return JSON.parse(text);
  });
}

/** A request of a worker to the run. */
export type Wish =
  | { readonly kind: 'terminate'; readonly id: string; readonly workflowId: string }
  | { readonly kind: 'change'; readonly id: string; readonly marker: string };

export const takeWishes = (folder: string): Wish[] => takeAll(wishesFolder(folder));

/** Tells the worker that its request is done. */
export const grantWish = (folder: string, { id }: Wish): void =>
  writeFileSync(path.join(folder, `granted-${id}`), '');

/** Makes the next attempt of this post announce its start. */
export function aimAt(folder: string, postId: string, { id, marker }: Omit<Aim, 'kind'>): void {
  writeWhole(folder, path.join(aimsFolder(folder), postId), { kind: 'change', id, marker });
}

type Aim = Extract<Wish, { kind: 'change' }>;

/** @returns whether `aimAt` named this post; if so, the run learns that an attempt begins. */
export function tellAim(folder: string, postId: string): boolean {
  const file = path.join(aimsFolder(folder), postId);
  const aim = existsSync(file) ? readJson<Aim>(file) : null;
  if (aim === null || !took(file)) {
    return false;
  }

  writeWhole(folder, path.join(wishesFolder(folder), aim.id), aim);
  return true;
}

/** If a trap was set at this point, has the workflow terminated, and blocks until that is done. */
export function terminateInTrap(folder: string, fault: TrapFault, workflowId: string): void {
  const id = takeTrap(folder, fault);
  if (id === undefined) {
    return;
  }

  writeWhole(folder, path.join(wishesFolder(folder), id), { kind: 'terminate', id, workflowId });
  const granted = path.join(folder, `granted-${id}`);
  for (let waitedMs = 0; waitedMs < longestWishMs && !existsSync(granted); waitedMs += 5) {
    standStill(5);
  }
}

const longestWishMs = 5000;

/** Blocks the whole process for `ms`. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Dies if a trap was set at this point. */
export function fallIntoTrap(folder: string, fault: TrapFault): void {
  const id = takeTrap(folder, fault);
  if (id !== undefined) {
    die(folder, { id, fault, marker: '' });
  }
}

/** @returns the trap's id if one was set at this point and no other process took it. */
function takeTrap(folder: string, fault: TrapFault): string | undefined {
  const prefix = `${slug(fault)}.`;
  const name = readdirSync(trapsFolder(folder)).find((each) => each.startsWith(prefix));
  return name !== undefined && took(path.join(trapsFolder(folder), name))
    ? name.slice(prefix.length)
    : undefined;
}

/**
 * Applies the fault that one of the texts was marked for at this point. Marks may be added at any time: see
 * `untilAllCameAbout`.
 */
export function passMark(
  folder: string,
  point: WorkerFault,
  platform: string,
  texts: readonly string[],
): void {
  const found = findMark(folder, point, platform, texts);
  if (!found || !took(found.file)) {
    return;
  }

  const { id, marker } = found;
  if (point === 'suspended before the send') {
    suspend(folder, { id, fault: point, marker, stopped: { pid: process.pid, platform } });
  } else {
    die(folder, { id, fault: point, marker });
  }
}

/** @returns a function that kills this process unless another one took the mark; null when no text was marked. */
export function findDeath(
  folder: string,
  point: WorkerFault,
  platform: string,
  texts: readonly string[],
): (() => void) | null {
  const found = findMark(folder, point, platform, texts);
  return (
    found &&
    (() => {
      if (took(found.file)) {
        die(folder, { id: found.id, fault: point, marker: found.marker });
      }
    })
  );
}

function findMark(
  folder: string,
  point: WorkerFault,
  platform: string,
  texts: readonly string[],
): { readonly id: string; readonly file: string; readonly marker: string } | null {
  const labels = texts.flatMap(labelsIn);
  for (const id of readdirSync(marksFolder(folder))) {
    const file = path.join(marksFolder(folder), id);
    const mark = readJson<Mark>(file);
    const isMeant =
      mark?.fault === point &&
      mark.platform === platform &&
      labels.some(({ marker, part }) => marker === mark.marker && part === mark.part);
    if (isMeant) {
      return { id, file, marker: mark.marker };
    }
  }

  return null;
}

/** @returns null when another process took it just now. */
function readJson<T>(file: string): T | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return null;
    }

    throw error;
  }
}

const slug = (fault: TrapFault): string => fault.replaceAll(' ', '-');

function took(file: string): boolean {
  try {
    unlinkSync(file);
    return true;
  } catch {
    return false; // Another process was faster.
  }
}

/** Sends SIGKILL to this process, without any clean-up. */
function die(folder: string, death: Death): never {
  writeWhole(folder, path.join(deathsFolder(folder), death.id), death);
  process.kill(process.pid, 'SIGKILL');
  for (;;) {
    standStill(1000);
  }
}

/** Sends SIGSTOP to this process; it continues here after SIGCONT. */
function suspend(folder: string, death: Death): void {
  writeWhole(folder, path.join(deathsFolder(folder), death.id), death);
  process.kill(process.pid, 'SIGSTOP');
}

/** Writes through a rename, so that readers never see part of a file. */
function writeWhole(folder: string, file: string, content: object): void {
  const draft = path.join(folder, `draft-${path.basename(file)}`);
  writeFileSync(draft, JSON.stringify(content));
  renameSync(draft, file);
}
