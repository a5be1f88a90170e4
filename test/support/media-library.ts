import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { sweepMedia } from '../../services/media/library.ts';
import { createInspector } from '../../runtime/media/inspector.ts';
import { createStaging, createStorage } from '../../runtime/storage/create-storage.ts';
import type { MediaStorage } from '../../runtime/storage/media-storage.ts';
import type { Client, Reply } from './client.ts';
import { startApi, type ApiOptions, type Punctual } from './punctual.ts';
import { rawCall } from './raw-call.ts';
import { testLog } from './temporal.ts';

/** An address without a server: the media library needs no Temporal. */
export const noTemporal = { TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_NAMESPACE: 'none' };

/** An API on a real socket with a real database and a media library on disk, without Temporal. */
export const startLibrary = (t: ExecutionContext, options: ApiOptions = {}): Promise<Punctual> =>
  startApi(t, { temporalEnv: noTemporal, ...options });

/** An upload: the file's bytes and its form fields. */
export type Upload = {
  readonly bytes: Uint8Array;
  readonly fileName?: string;
  /** The media type that the sender claims. */
  readonly type?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Uploads a file as a browser does. */
export async function upload(
  punctual: Pick<Punctual, 'url'>,
  client: Client,
  { bytes, fileName = 'picture.png', type = '', fields = {}, headers = {} }: Upload,
): Promise<Reply> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    form.append(name, value);
  }

  form.append('file', new Blob([new Uint8Array(bytes)], { type }), fileName);
  return post(punctual, client, form, headers);
}

export const post = (
  { url }: Pick<Punctual, 'url'>,
  { key }: Client,
  body: FormData | Buffer<ArrayBuffer> | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> =>
  rawCall(`${url}/api/v1/media`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${key}`, ...headers },
  });

/** Folder of the storage with marker files instead of media. */
const marks = 'installations';

/** All files in the media folder, stored or incoming. */
export async function filesOf({ mediaDir }: Pick<Punctual, 'mediaDir'>): Promise<string[]> {
  const entries = await readdir(mediaDir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && path.basename(entry.parentPath) !== marks)
    .map(({ name }) => name);
}

/** Lists the files that appear in the folder from now on, so that serial tests see only their own. */
export async function newFilesOf(
  library: Pick<Punctual, 'mediaDir'>,
): Promise<() => Promise<string[]>> {
  const before = new Set(await filesOf(library));
  return async () => (await filesOf(library)).filter((name) => !before.has(name));
}

/** A file's link at an address that the test can reach; the original origin is on another machine. */
export const linkTo = ({ url }: Pick<Punctual, 'url'>, link: string): string =>
  link.replace('https://punctual.example', url);

/** The number of files in the library of a workspace. */
export async function rowsOf(punctual: Punctual, workspaceId: string): Promise<number> {
  const [row] = await punctual.orm.em
    .fork()
    .execute<{ count: string }[]>(
      'select count(*) from media_files where workspace_id = ? and deleted_at is null and stored_at is not null',
      [workspaceId],
    );
  return Number(row?.count);
}

/**
 * Sweeps the library as an API process does each hour.
 *
 * @param storage Replaces the storage on disk.
 * @param keepUnusedDays 0 (the default) keeps unused files without a limit.
 */
export async function sweepLibrary(
  { orm, mediaDir }: Pick<Punctual, 'orm' | 'mediaDir'>,
  storage?: MediaStorage,
  keepUnusedDays = 0,
): Promise<void> {
  const stored = { mediaDir, s3: null };
  const media = {
    storage: storage ?? createStorage(stored),
    staging: await createStaging(stored),
    downloader: { download: () => Promise.reject(new Error('Nothing is downloaded here.')) },
    inspector: createInspector(),
    refuseUrl: () => null,
    assertDiskSpace: () => Promise.resolve(),
    keepUnusedDays,
    stallMs: 1000,
  };
  await sweepMedia({ orm, log: testLog, media });
}

/** Makes unclaimed files two hours older. */
export const ageUnclaimed = ({ orm }: Pick<Punctual, 'orm'>): Promise<unknown> =>
  orm.em
    .fork()
    .execute(
      "update media_files set created_at = created_at - interval '2 hours' where stored_at is null and deleted_at is null",
    );

/** Files that are stored, or were about to be, and are not in the library. */
export async function unsettledOf({ orm }: Pick<Punctual, 'orm'>): Promise<string[]> {
  const rows = await orm.em
    .fork()
    .execute<{ id: string }[]>(
      'select id from media_files where (stored_at is null) = (deleted_at is null) order by id',
    );
  return rows.map(({ id }) => id);
}
