import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cidForRawHash } from '@atproto/lex-data';
import { fileTypeFromBuffer } from 'file-type';

/** Limit for one file. */
export const maxStoredFileBytes = 40 * 1024 * 1024;
/** Limit for all files together; the oldest are removed. */
const maxTotalBytes = 400 * 1024 * 1024;

const endings: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/apng': 'apng',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
};

/** The types that a browser can show. */
export const fileTypes = Object.keys(endings);

type StoredFile = {
  /** The content hash, as on Bluesky. */
  readonly cid: string;
  readonly type: string;
  readonly size: number;
};

export type Files = {
  /** Stores a file. @returns null when its type is not one of those above. */
  put(bytes: Buffer): Promise<StoredFile | null>;
  /** @returns null when the file does not exist or was removed. */
  find(cid: string): Promise<StoredFile | null>;
  /** @returns null when the file does not exist or was removed. */
  read(cid: string): Promise<{ type: string; bytes: Buffer } | null>;
  /** Removes the temporary folder. */
  close(): Promise<void>;
};

/** @param folder Keeps files across restarts; a temporary folder when absent. */
export async function openFiles(folder: string | undefined): Promise<Files> {
  const place = folder ?? (await mkdtemp(join(tmpdir(), 'punctual-sandbox-')));
  await mkdir(place, { recursive: true, mode: 0o700 });
  const all = async (): Promise<KeptFile[]> =>
    (await Promise.all((await readdir(place)).map((name) => readKeptFiles(place, name)))).flat();
  const find = async (cid: string) => (await all()).find((file) => file.cid === cid) ?? null;

  return {
    async put(bytes) {
      const type = (await fileTypeFromBuffer(bytes))?.mime ?? '';
      const ending = endings[type];
      if (ending === undefined) {
        return null;
      }
      const cid = cidForRawHash(createHash('sha256').update(bytes).digest()).toString();
      // A reader finds the whole file or none: two requests may write the same bytes at once.
      const written = join(place, `${crypto.randomUUID()}.new`);
      await writeFile(written, bytes, { mode: 0o600 });
      await rename(written, join(place, `${cid}.${ending}`));
      await makeRoom(await all());
      return { cid, type, size: bytes.length };
    },
    find,
    async read(cid) {
      const file = await find(cid);
      const bytes = file && (await readFile(file.path).catch(() => null));
      return file && bytes ? { type: file.type, bytes } : null;
    },
    async close() {
      if (folder === undefined) {
        await rm(place, { recursive: true, force: true });
      }
    },
  };
}

type KeptFile = StoredFile & { readonly path: string; readonly writtenMs: number };

/** The file with this name; nothing for other names, or when it was just removed. */
async function readKeptFiles(place: string, name: string): Promise<KeptFile[]> {
  const { cid, ending } = /^(?<cid>[a-z2-7]+)\.(?<ending>[a-z0-9]+)$/v.exec(name)?.groups ?? {};
  const type = fileTypes.find((one) => endings[one] === ending);
  const path = join(place, name);
  const found = await stat(path).catch(() => null);
  return cid && type && found
    ? [{ cid, type, path, size: found.size, writtenMs: found.mtimeMs }]
    : [];
}

async function makeRoom(files: readonly KeptFile[]): Promise<void> {
  let total = files.reduce((sum, { size }) => sum + size, 0);
  for (const { path, size } of files.toSorted((a, b) => a.writtenMs - b.writtenMs)) {
    if (total <= maxTotalBytes) {
      break;
    }
    total -= size;
    await rm(path, { force: true });
  }
}
