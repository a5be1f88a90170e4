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
import type { PlannedFault } from '../plan/post-plan.ts';
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
  writeFileSync(path.join(marksFolder(folder), id), JSON.stringify(mark));
}

/** The next process that comes to this point dies there. */
export function setTrap(folder: string, fault: TrapFault, id: string): void {
  writeFileSync(path.join(trapsFolder(folder), `${slug(fault)}.${id}`), fault);
}

/** Why processes died since the last call, with the post's marker where they had one in their hands. */
export function takeDeaths(folder: string): { fault: WorkerFault | TrapFault; marker: string }[] {
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
  const id = readdirSync(trapsFolder(folder)).find((name) => name.startsWith(prefix));
  if (id !== undefined && took(path.join(trapsFolder(folder), id))) {
    die(folder, id, { fault, marker: '' });
  }
}

/** A worker's view of the marks. They are all there before it starts, so it reads them once. */
export function readMarks(
  folder: string,
): (point: WorkerFault, platform: string, texts: readonly string[]) => void {
  const marks = readdirSync(marksFolder(folder)).map((id) => {
    const file = path.join(marksFolder(folder), id);
    const mark: Mark = JSON.parse(readFileSync(file, 'utf8'));
    return { id, file, mark };
  });
  return (point, platform, texts) => {
    const labels = texts.flatMap(labelsIn);
    const found = marks.find(
      ({ file, mark }) =>
        mark.fault === point &&
        mark.platform === platform &&
        labels.some(({ marker, part }) => marker === mark.marker && part === mark.part) &&
        existsSync(file),
    );
    if (found && took(found.file)) {
      die(folder, found.id, { fault: point, marker: found.mark.marker });
    }
  };
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
function die(folder: string, id: string, death: object): never {
  const note = path.join(folder, `death-${id}`);
  writeFileSync(note, JSON.stringify(death));
  renameSync(note, path.join(deathsFolder(folder), id)); // Whoever finds it finds all of it.
  process.kill(process.pid, 'SIGKILL');
  for (;;) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
}
