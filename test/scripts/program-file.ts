import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Writes a shell script that can be run as a program. @returns its path. */
export async function programFile(folder: string, name: string, script: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, name);
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return file;
}
