import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CommandError } from './failures.ts';
import { profilesFile } from './profiles.ts';

/** The receivers to which `punctual listen` forwards the events of a workspace, each with a file of its own. */
export type Receivers = {
  /** The `sequence` of the last event that was forwarded there; null for a new receiver. */
  readonly readPlace: (url: string) => Promise<number | null>;
  readonly savePlace: (url: string, after: number) => Promise<void>;
  /** The receiver to which events were forwarded last. */
  readonly lastUrl: () => Promise<string | undefined>;
};

export async function openReceivers(
  env: Readonly<Record<string, string | undefined>>,
  workspaceId: string,
): Promise<Receivers> {
  const folder = path.join(path.dirname(profilesFile(env)), 'listen', workspaceId);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const fileOf = (url: string): string =>
    path.join(folder, `${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`);
  return {
    readPlace: async (url) => (await readKept(fileOf(url)))?.after ?? null,
    savePlace: async (url, after) => {
      const draft = `${fileOf(url)}.${process.pid}`;
      await writeFile(draft, JSON.stringify({ url, after }), { mode: 0o600 });
      await rename(draft, fileOf(url));
    },
    lastUrl: async () => {
      const names = (await readdir(folder)).filter((name) => name.endsWith('.json'));
      const files = names.map(async (name) => {
        const file = path.join(folder, name);
        return { file, changedMs: (await stat(file)).mtimeMs };
      });
      const [newest] = (await Promise.all(files)).toSorted((a, b) => b.changedMs - a.changedMs);
      return newest && (await readKept(newest.file))?.url;
    },
  };
}

/** @throws CommandError for a damaged file: another place would lose or repeat events. */
async function readKept(
  file: string,
): Promise<{ readonly url: string; readonly after: number } | null> {
  try {
    const kept = JSON.parse(await readFile(file, 'utf8'));
    if (typeof kept?.after === 'number') {
      return kept;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return null;
    }
  }

  throw new CommandError(
    `${file} cannot be read. Delete it, and give --since 1h to begin earlier.`,
  );
}
