import { writeFileSync, renameSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import type { Watched } from '../parts/guard.ts';
import { endProcesses, processIdentity } from '../parts/processes.ts';
import { PlainError, type Say } from '../terminal.ts';

/** Held by the one `npm start` of a folder. */
export type RunLock = {
  /** Notes what was started, so that a next start can end what this one left behind. */
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
 * Makes sure that no other process runs Punctual in this folder, and ends the parts of one that was killed.
 *
 * @throws PlainError when it runs already, saying where and how to stop it
 */
export async function takeRunLock(file: string, api: string, say: Say): Promise<RunLock> {
  const me = { pid: process.pid, identity: (await processIdentity(process.pid)) ?? '', api };
  while (!(await create(file, { ...me, parts: [] }))) {
    const holder = await readHolder(file);
    if (holder) {
      await dislodge(holder, say);
    }
    await rm(file, { force: true });
  }

  return {
    note(parts) {
      // In one step, or a start that was killed right here would leave a list that cannot be read.
      writeFileSync(`${file}.new`, JSON.stringify({ ...me, parts }), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    },
    release: () => rm(file, { force: true }),
  };
}

/** Whether a process that runs holds it. */
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
    return undefined; // Gone in this moment, or cut off while it was written.
  }
}

async function dislodge(holder: Holder, say: Say): Promise<void> {
  if ((await processIdentity(holder.pid)) === holder.identity) {
    throw new PlainError(
      `Punctual runs in this folder already: process ${holder.pid}, API at ${holder.api}.\n` +
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
    say(`An earlier start was killed. Ending what it left behind: ${left.join(', ')} ...`);
    await endProcesses(holder.parts);
  }
}
