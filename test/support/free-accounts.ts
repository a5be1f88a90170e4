import { mkdir, readdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';

// Accounts that were made ahead for whichever process of a test run needs them: a file in a folder stands for each, and
// who removes it has the account.

export type FreeAccount = {
  readonly name: string;
  /** What is to be known of it beside its name. */
  readonly details: string;
};

/** @returns an account that no other process has or gets, or null when there is none. */
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
  await rename(draft, path.join(folder, name)); // So it is found whole.
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
