import { mkdir, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';

// Accounts made ahead for all processes of a test run. A file in a folder represents each free account; the process
// that removes the file owns the account.

export type FreeAccount = {
  readonly name: string;
  /** Everything about it except its name. */
  readonly details: string;
};

/** @returns an account that no other process can get, or null when none is free. */
export async function takeFree(folder: string): Promise<FreeAccount | null> {
  await mkdir(folder, { recursive: true });
  const files = await readdir(folder);
  for (const name of files.filter((each) => !isDraft(each))) {
    const file = path.join(folder, name);
    const details = await orTaken(readFile(file, 'utf8'));
    if (details !== null && (await orTaken(unlink(file))) !== null) {
      return { name, details };
    }
  }

  return null;
}

export async function putFree(folder: string, { name, details }: FreeAccount): Promise<void> {
  const draft = path.join(folder, `.${name}`);
  await writeFile(draft, details);
  await rename(draft, path.join(folder, name)); // Atomic: readers see only complete files.
}

const isDraft = (file: string): boolean => file.startsWith('.');

/** @returns null when another process was faster. */
const orTaken = <T>(done: Promise<T>): Promise<T | null> =>
  done.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') {
      return null;
    }

    throw error;
  });
