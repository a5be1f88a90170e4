import { copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { FuzzWorld } from './world.ts';

/** Writes the configuration, ids and keys that Schemathesis reads into a folder. */
export async function prepareFolder(folder: string, world: FuzzWorld): Promise<void> {
  const { owner, stranger, ids } = world;
  for (const file of ['schemathesis.toml', 'hooks.py']) {
    await copyFile(path.join(import.meta.dirname, file), path.join(folder, file));
  }

  const users = { auth: [userOf('owner', owner.key), userOf('stranger', stranger.key)] };
  await writeFile(path.join(folder, 'users.json'), JSON.stringify(users));
  for (const [name, values] of Object.entries(ids)) {
    const lines = values.map((value) => `"${value}"\n`);
    await writeFile(path.join(folder, `${name}.dict`), lines.join(''));
  }
}

/** In the format of Web Fuzzing Commons. */
const userOf = (name: string, key: string): object => ({
  name,
  fixedHeaders: [{ name: 'Authorization', value: `Bearer ${key}` }],
});
