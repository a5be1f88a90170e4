import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PlainError } from '../terminal.ts';

/** All data of `npm start`. Deleting the folder resets everything. */
export type DataFolder = {
  readonly path: (name: string) => string;
  readonly logFile: (name: string) => string;
  /** A secret that is created once and kept. @param bytes Its length; it has twice as many hexadecimal characters. */
  readonly secret: (name: string, bytes: number) => Promise<string>;
  /** An existing secret, or undefined. */
  readonly keptSecret: (name: string, bytes: number) => Promise<string | undefined>;
  readonly readPorts: () => Promise<Readonly<Record<string, number>>>;
  readonly writePorts: (ports: Readonly<Record<string, number>>) => Promise<void>;
};

/** `.data` in the project, unless `PUNCTUAL_DATA` names another folder. */
export function dataFolder(
  root: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  return path.resolve(root, env['PUNCTUAL_DATA'] || '.data');
}

/**
 * Opens the folder with access for its owner only. Files that this process and its children create later are private
 * too.
 *
 * @throws PlainError when it cannot be created or written to.
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const inside = (name: string) => path.join(folder, name);
  const ports = inside('ports.json');
  try {
    process.umask(0o077);
    await mkdir(inside('logs'), { recursive: true });
    // When root owns it, PostgreSQL runs as another user, which must pass through but needs no list of the files.
    await chmod(folder, process.getuid?.() === 0 ? 0o711 : 0o700);
    await closeToOthers(folder);
  } catch (error) {
    throw new PlainError(
      `${folder} cannot be used: ${(error as Error).message}.\n` +
        'If it belongs to another user because Punctual was started as root before, hand it over with ' +
        `"sudo chown -R ${process.getuid?.()} ${folder}".`,
    );
  }

  return {
    path: inside,
    logFile: (name) => inside(path.join('logs', `${name}.log`)),
    secret: (name, bytes) => madeSecret(inside(name), bytes),
    keptSecret: (name, bytes) => keptSecret(inside(name), bytes),
    readPorts: async () => {
      const text = await readFile(ports, 'utf8').catch(() => '{}');
      return onlyPorts(text);
    },
    writePorts: (chosen) => writeFile(ports, `${JSON.stringify(chosen, undefined, 2)}\n`),
  };
}

/** Closes files of an earlier version. PostgreSQL has closed its own folder. */
async function closeToOthers(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name !== 'postgres' && (entry.isDirectory() || entry.isFile())) {
      await chmod(path.join(folder, entry.name), entry.isDirectory() ? 0o700 : 0o600);
    }
  }
}

async function madeSecret(file: string, bytes: number): Promise<string> {
  const kept = await keptSecret(file, bytes);
  if (kept !== undefined) {
    return kept;
  }

  const secret = randomBytes(bytes).toString('hex');
  await writeFile(file, `${secret}\n`, { mode: 0o600, flag: 'wx' });
  return secret;
}

/** @throws PlainError when the existing secret is damaged. A new one could not open the data that it sealed. */
async function keptSecret(file: string, bytes: number): Promise<string | undefined> {
  const kept = await readFile(file, 'utf8').catch(() => undefined);
  if (kept === undefined) {
    return undefined;
  }

  const secret = kept.trim();
  if (!/^[0-9a-f]+$/v.test(secret) || secret.length !== bytes * 2) {
    throw new PlainError(
      `${file} should hold ${bytes * 2} hexadecimal characters and does not. Restore it, or delete it ` +
        'together with the rest of the folder to start with no data.',
    );
  }
  return secret;
}

function onlyPorts(text: string): Record<string, number> {
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    const ports = entries.filter((entry): entry is [string, number] => Number.isInteger(entry[1]));
    return Object.fromEntries(ports);
  } catch {
    return {}; // The ports are only preferences.
  }
}
