import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cidForRawHash } from '@atproto/lex-data';
import { fileTypeFromBuffer } from 'file-type';

/** Of one file. */
export const maxFileBytes = 40 * 1024 * 1024;
/** Of all files together. The oldest go first. */
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

/** What a browser can show. */
export const fileTypes = Object.keys(endings);

type StoredFile = {
  /** Names it by its bytes, as Bluesky does. */
  readonly cid: string;
  readonly type: string;
  readonly size: number;
};

export type Files = {
  /** Keeps a file. @returns null when it is neither a picture nor a video of the kinds above. */
  put(bytes: Buffer): Promise<StoredFile | null>;
  /** @returns null when there is no such file (any more). */
  find(cid: string): Promise<StoredFile | null>;
  /** @returns null when there is no such file (any more). */
  read(cid: string): Promise<{ type: string; bytes: Buffer } | null>;
  /** Removes what is not to outlive the sandbox. */
  close(): Promise<void>;
};

/** @param folder Where files survive a restart; without it they lie in a temporary one. */
export async function openFiles(folder: string | undefined): Promise<Files> {
  const place = folder ?? (await mkdtemp(join(tmpdir(), 'punctual-sandbox-')));
  await mkdir(place, { recursive: true, mode: 0o700 });
  const all = async (): Promise<KeptFile[]> =>
    (await Promise.all((await readdir(place)).map((name) => look(place, name)))).flat();
  const find = async (cid: string) => (await all()).find((file) => file.cid === cid) ?? null;

  return {
    async put(bytes) {
      const type = (await fileTypeFromBuffer(bytes))?.mime ?? '';
      const ending = endings[type];
      if (ending === undefined) {
        return null;
      }
      const cid = cidForRawHash(createHash('sha256').update(bytes).digest()).toString();
      // Whoever looks meanwhile finds the whole file or none: the same bytes may come twice at the same time.
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

/** What lies under a name; nothing when that is none of ours, or is gone by now. */
async function look(place: string, name: string): Promise<KeptFile[]> {
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
