import { writeFileSync, renameSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import type { Watched } from '../parts/guard.ts';
import { endProcesses, processIdentity } from '../parts/processes.ts';
import { PlainError, type Say } from '../terminal.ts';

/** Held by the only `npm start` of a folder. */
export type RunLock = {
  /** Records the started processes, so that the next start can end them if this one is killed. */
  readonly note: (watched: Watched) => void;
  readonly release: () => Promise<void>;
};

type Holder = {
  readonly pid: number;
  readonly identity: string;
  readonly api: string;
  readonly parts: Watched;
};

/**
 * Ensures that no other process runs Punctual in this folder, and ends the remaining parts of a killed one.
 *
 * @throws PlainError when it is running already, with its URL and how to stop it
 */
export async function takeRunLock(file: string, api: string, say: Say): Promise<RunLock> {
  const me = { pid: process.pid, identity: (await processIdentity(process.pid)) ?? '', api };
  while (!(await create(file, { ...me, parts: [] }))) {
    const holder = await readHolder(file);
    if (holder) {
      await removeStaleLock(holder, say);
    }
    await rm(file, { force: true });
  }

  return {
    note(parts) {
      // Atomic: a start that is killed here must not leave an unreadable list.
      writeFileSync(`${file}.new`, JSON.stringify({ ...me, parts }), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    },
    release: () => rm(file, { force: true }),
  };
}

/** Whether a running process holds it. */
export async function isRunning(file: string): Promise<boolean> {
  const holder = await readHolder(file);
  return holder !== undefined && (await processIdentity(holder.pid)) === holder.identity;
}

async function create(file: string, holder: Holder): Promise<boolean> {
  try {
    await writeFile(file, JSON.stringify(holder), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      return false;
    }

    throw error;
  }
}

async function readHolder(file: string): Promise<Holder | undefined> {
  try {
    const holder = JSON.parse(await readFile(file, 'utf8')) as Holder;
    return Array.isArray(holder.parts) ? holder : undefined;
  } catch {
    return undefined; // Just removed, or incomplete.
  }
}

async function removeStaleLock(holder: Holder, say: Say): Promise<void> {
  if ((await processIdentity(holder.pid)) === holder.identity) {
    throw new PlainError(
      `Punctual is already running in this folder: process ${holder.pid}, API at ${holder.api}.\n` +
        `Press Ctrl-C where it runs, or run "kill ${holder.pid}".`,
    );
  }

  const left: string[] = [];
  for (const { name, pid, identity } of holder.parts.flat()) {
    if ((await processIdentity(pid)) === identity) {
      left.push(`${name} (process ${pid})`);
    }
  }
  if (left.length > 0) {
    say(`An earlier start was killed. Ending its remaining processes: ${left.join(', ')} ...`);
    await endProcesses(holder.parts);
  }
}
