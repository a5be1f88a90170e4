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

// Processes that are to die, or to stand still, share a folder with the run that planned it. A file there is taken by removing it, which
// only one of them can do, and what was taken is written down before the process dies: nothing is counted twice.

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

/** The next worker that has this part of the post in its hands meets this at the given point. */
export function markPost(folder: string, marker: string, { id, ...planned }: PlannedFault): void {
  const { fault, platform, part } = planned;
  const mark = { fault: fault as WorkerFault, marker, platform, part } satisfies Mark;
  writeWhole(folder, path.join(marksFolder(folder), id), mark);
}

/** It befalls the next process that comes to this point. */
export function setTrap(folder: string, { fault, id }: Omit<Trap, 'atMs'>): void {
  writeFileSync(path.join(trapsFolder(folder), `${slug(fault)}.${id}`), fault);
}

type Death = {
  /** Of the mark or the trap. */
  readonly id: string;
  readonly fault: WorkerFault | TrapFault;
  /** Of the post that the process had in its hands, or ''. */
  readonly marker: string;
  /** Of a process that stands still until it is released. */
  readonly stopped?: { readonly pid: number; readonly platform: string };
};

/** Why processes died or stood still since the last call. */
export const takeDeaths = (folder: string): Death[] => takeAll(deathsFolder(folder));

function takeAll<T>(folder: string): T[] {
  return readdirSync(folder).map((name) => {
    const file = path.join(folder, name);
    const text = readFileSync(file, 'utf8');
    unlinkSync(file);
    return JSON.parse(text);
  });
}

/** What a worker wants the run to do, now that it has come to a point. */
export type Wish =
  | { readonly kind: 'terminate'; readonly id: string; readonly workflowId: string }
  | { readonly kind: 'change'; readonly id: string; readonly marker: string };

export const takeWishes = (folder: string): Wish[] => takeAll(wishesFolder(folder));

/** The run has done what was wished. */
export const grantWish = (folder: string, { id }: Wish): void =>
  writeFileSync(path.join(folder, `granted-${id}`), '');

/** The next try of this post to begin says so first. */
export function aimAt(folder: string, postId: string, { id, marker }: Omit<Aim, 'kind'>): void {
  writeWhole(folder, path.join(aimsFolder(folder), postId), { kind: 'change', id, marker });
}

type Aim = Extract<Wish, { kind: 'change' }>;

/** @returns whether this post was aimed at; if so, the run learns that an attempt of it begins. */
export function tellAim(folder: string, postId: string): boolean {
  const file = path.join(aimsFolder(folder), postId);
  const aim = existsSync(file) ? readJson<Aim>(file) : null;
  if (aim === null || !took(file)) {
    return false;
  }

  writeWhole(folder, path.join(wishesFolder(folder), aim.id), aim);
  return true;
}

/** If a trap was set at this point, has the workflow terminated, and goes on when that is done. Stands still meanwhile. */
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

/** The whole process does nothing for so long, in milliseconds. */
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

/** @returns the trap's id if one was set at this point, and no other process took it. */
function takeTrap(folder: string, fault: TrapFault): string | undefined {
  const prefix = `${slug(fault)}.`;
  const name = readdirSync(trapsFolder(folder)).find((each) => each.startsWith(prefix));
  return name !== undefined && took(path.join(trapsFolder(folder), name))
    ? name.slice(prefix.length)
    : undefined;
}

/** Meets what one of the texts was marked for at this point. Marks may be new at any time: see `untilAllCameAbout`. */
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

/** @returns what kills this process, unless another one was killed by it before; null when no text was marked. */
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

/** SIGKILL: no clean-up, no goodbye. Nothing of this process runs after it. */
function die(folder: string, death: Death): never {
  writeWhole(folder, path.join(deathsFolder(folder), death.id), death);
  process.kill(process.pid, 'SIGKILL');
  for (;;) {
    standStill(1000);
  }
}

/** SIGSTOP: goes on with the next line after SIGCONT. */
function suspend(folder: string, death: Death): void {
  writeWhole(folder, path.join(deathsFolder(folder), death.id), death);
  process.kill(process.pid, 'SIGSTOP');
}

/** So that the file is found whole. */
function writeWhole(folder: string, file: string, content: object): void {
  const draft = path.join(folder, `draft-${path.basename(file)}`);
  writeFileSync(draft, JSON.stringify(content));
  renameSync(draft, file);
}
