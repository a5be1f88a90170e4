import {
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

// Processes that are to die share a folder with the run that planned it. A file there is taken by removing it, which
// only one of them can do, and what was taken is written down before the process dies: nothing is counted twice.

type Mark = { readonly fault: WorkerFault; readonly marker: string } & Pick<
  PlannedFault,
  'platform' | 'part'
>;

const marksFolder = (folder: string): string => path.join(folder, 'marks');
const trapsFolder = (folder: string): string => path.join(folder, 'traps');
const deathsFolder = (folder: string): string => path.join(folder, 'deaths');

/** Prepares the folder. */
export function openTraps(folder: string): void {
  for (const part of [marksFolder(folder), trapsFolder(folder), deathsFolder(folder)]) {
    mkdirSync(part, { recursive: true });
  }
}

/** The next worker that has this part of the post in its hands dies at the given point. */
export function markPost(folder: string, marker: string, { id, ...planned }: PlannedFault): void {
  const { fault, platform, part } = planned;
  const mark = { fault: fault as WorkerFault, marker, platform, part } satisfies Mark;
  writeWhole(folder, path.join(marksFolder(folder), id), mark);
}

/** The next process that comes to this point dies there. */
export function setTrap(folder: string, { fault, id }: Omit<Trap, 'atMs'>): void {
  writeFileSync(path.join(trapsFolder(folder), `${slug(fault)}.${id}`), fault);
}

type Death = {
  /** Of the mark or the trap. */
  readonly id: string;
  readonly fault: WorkerFault | TrapFault;
  /** Of the post that the process had in its hands, or ''. */
  readonly marker: string;
};

/** Why processes died since the last call. */
export function takeDeaths(folder: string): Death[] {
  return readdirSync(deathsFolder(folder)).flatMap((name) => {
    const file = path.join(deathsFolder(folder), name);
    const text = readFileSync(file, 'utf8');
    unlinkSync(file);
    return [JSON.parse(text)];
  });
}

/** Dies if a trap was set at this point. */
export function fallIntoTrap(folder: string, fault: TrapFault): void {
  const prefix = `${slug(fault)}.`;
  const name = readdirSync(trapsFolder(folder)).find((each) => each.startsWith(prefix));
  if (name !== undefined && took(path.join(trapsFolder(folder), name))) {
    die(folder, { id: name.slice(prefix.length), fault, marker: '' });
  }
}

/** Dies if one of the texts was marked for this point. Marks may be new at any time: see `untilAllCameAbout`. */
export function passMark(
  folder: string,
  point: WorkerFault,
  platform: string,
  texts: readonly string[],
): void {
  const labels = texts.flatMap(labelsIn);
  for (const id of readdirSync(marksFolder(folder))) {
    const file = path.join(marksFolder(folder), id);
    const mark = readMark(file);
    const isMeant =
      mark?.fault === point &&
      mark.platform === platform &&
      labels.some(({ marker, part }) => marker === mark.marker && part === mark.part);
    if (isMeant && took(file)) {
      die(folder, { id, fault: point, marker: mark.marker });
    }
  }
}

/** @returns null when another process took it just now. */
function readMark(file: string): Mark | null {
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
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
}

/** Whoever finds the file finds all of it. */
function writeWhole(folder: string, file: string, content: object): void {
  const draft = path.join(folder, `draft-${path.basename(file)}`);
  writeFileSync(draft, JSON.stringify(content));
  renameSync(draft, file);
}
