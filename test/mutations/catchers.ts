import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../../node_modules/.cache/mutations.json', import.meta.url));

/** By fault, the file of tests that noticed it the last time: asked first, the other files of its folders need not run. */
export type Catchers = Record<string, string>;

/** Empty where nothing was remembered: it saves time and decides nothing. */
export async function readCatchers(): Promise<Catchers> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return {};
  }
}

export async function rememberCatcher(fault: string, testFile: string): Promise<void> {
  const catchers = await readCatchers();
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify({ ...catchers, [fault]: testFile }, null, 1));
}
