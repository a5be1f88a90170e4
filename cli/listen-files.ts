import { createHash, randomBytes } from 'node:crypto';
import { link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Place } from './follow-events.ts';
import { CommandError } from './failures.ts';
import { profilesFile } from './profiles.ts';

/** What `punctual listen` keeps for a workspace. Each receiver has a file of its own, so that two receivers keep separate places. */
export type ListenFiles = {
  /** Signs forwarded events; always the same. */
  readonly secret: string;
  /** Null for a receiver that is new. */
  readonly readPlace: (url: string) => Promise<Place | null>;
  readonly savePlace: (url: string, place: Place) => Promise<void>;
  /** The receiver to which events were forwarded last. */
  readonly lastUrl: () => Promise<string | undefined>;
};

export async function openListenFiles(
  env: Readonly<Record<string, string | undefined>>,
  workspaceId: string,
): Promise<ListenFiles> {
  const folder = path.join(path.dirname(profilesFile(env)), 'listen', workspaceId);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const placeFile = (url: string): string =>
    path.join(folder, `${createHash('sha256').update(url).digest('hex').slice(0, 16)}.json`);
  return {
    secret: await keptSecret(path.join(folder, 'secret')),
    readPlace: async (url) => {
      const kept = await readKept(placeFile(url));
      return kept && { after: kept.after, refused: kept.refused, from: kept.from };
    },
    savePlace: async (url, place) => {
      const file = placeFile(url);
      await writeFile(`${file}.${process.pid}`, JSON.stringify({ url, ...place }), { mode: 0o600 });
      await rename(`${file}.${process.pid}`, file);
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

/** The first start makes it. A link never replaces the file of another start, and has all of it at once. */
async function keptSecret(file: string): Promise<string> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `whsec_${randomBytes(24).toString('base64')}`, { mode: 0o600 });
  try {
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw error;
    }
  } finally {
    await rm(draft);
  }

  const secret = await readFile(file, 'utf8');
  if (!secret.startsWith('whsec_')) {
    throw new CommandError(`${file} has no secret. Delete it, and the next start makes a new one.`);
  }

  return secret;
}

type Kept = Place & { readonly url: string };

/** @throws CommandError for a damaged file: another place would lose or repeat events. */
async function readKept(file: string): Promise<Kept | null> {
  try {
    const kept = JSON.parse(await readFile(file, 'utf8')) as Kept | null;
    if (Array.isArray(kept?.refused)) {
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
