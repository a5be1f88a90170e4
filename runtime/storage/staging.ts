import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { namedIfOutOfRoom } from './out-of-room.ts';

/**
 * A local folder for files on their way in, and a note for each stored file that is not settled: it may belong to
 * nobody, because no row speaks of it yet or any more. What a crash leaves here, `sweep` finds.
 */
export type Staging = {
  /** A name for a new file, which is not made yet. */
  newPath(): string;
  /** @throws AppError `unavailable` when there is no room even for that. */
  note(key: string): Promise<void>;
  forget(key: string): Promise<void>;
  /**
   * Removes files that nobody has written to for an hour.
   *
   * @returns the keys that were noted more than an hour ago and not forgotten.
   */
  sweep(): Promise<string[]>;
};

/** No request takes as long. */
const staleMs = 60 * 60_000;

const ending = { file: '.part', note: '.note' } as const;

/** @param folder Made when it is not there; several processes may share it. */
export async function openStaging(folder: string): Promise<Staging> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const noteOf = (key: string) => path.join(folder, `${key}${ending.note}`);

  return {
    newPath: () => path.join(folder, `${crypto.randomUUID()}${ending.file}`),
    async note(key) {
      await writeFile(noteOf(key), '').catch((error: unknown) => {
        throw namedIfOutOfRoom(error);
      });
    },
    forget: (key) => rm(noteOf(key), { force: true }),
    async sweep() {
      const stale = await staleNames(folder);
      for (const name of stale.filter((each) => each.endsWith(ending.file))) {
        await rm(path.join(folder, name), { force: true });
      }

      const notes = stale.filter((name) => name.endsWith(ending.note));
      return notes.map((name) => name.slice(0, -ending.note.length));
    },
  };
}

async function staleNames(folder: string): Promise<string[]> {
  const stale: string[] = [];
  for (const name of await readdir(folder)) {
    const writtenMs = await stat(path.join(folder, name)).then(
      ({ mtimeMs }) => mtimeMs,
      () => Number.POSITIVE_INFINITY, // Another process was faster.
    );
    if (writtenMs < Date.now() - staleMs) {
      stale.push(name);
    }
  }

  return stale;
}
