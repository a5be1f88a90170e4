import path from 'node:path';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { ActivityDeps } from '../../activities/deps.ts';
import { MediaFile } from '../../db/entities/media.ts';
import { PostMedia } from '../../db/entities/posts.ts';
import { newId } from '../../db/new-id.ts';
import type { Punctual } from './punctual.ts';

/** Stores the row of an image, as an upload does, without its bytes. @returns its id. */
export async function storeMedia(
  { orm }: Pick<Punctual, 'orm'>,
  workspaceId: string,
  facts: Partial<MediaFile> = {},
): Promise<string> {
  const em = orm.em.fork();
  const file = em.create(MediaFile, {
    workspaceId,
    name: 'cat.png',
    type: 'image/png',
    sizeBytes: 1000,
    width: 10,
    height: 10,
    durationMs: null,
    storageKey: crypto.randomUUID(),
    linkToken: crypto.randomUUID(),
    storedAt: facts.deletedAt ? null : new Date(),
    deletedAt: null,
    ...facts,
  });
  await em.flush();
  return file.id;
}

/** A file for a media library: its bytes and its details. */
export type TestFile = {
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
  readonly width: number | null;
  readonly height: number | null;
};

type Deps = Pick<ActivityDeps, 'orm' | 'storage'>;

/** Stores a file's bytes and row in a workspace's library. @returns the row's id. */
export async function storeFile(
  { orm, storage }: Deps,
  workspaceId: string,
  { bytes, ...facts }: TestFile,
): Promise<string> {
  const storageKey = newId(); // The row's own id, as in the API.
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-file-'));
  const given = path.join(folder, 'file');
  await writeFile(given, bytes);
  await storage.put(storageKey, given, { type: facts.type, sizeBytes: bytes.length });
  await rm(folder, { recursive: true, force: true });
  const em = orm.em.fork();
  const file = em.create(MediaFile, {
    ...facts,
    id: storageKey,
    workspaceId,
    sizeBytes: bytes.length,
    durationMs: null,
    storageKey,
    linkToken: crypto.randomUUID(),
    storedAt: new Date(),
    deletedAt: null,
  });
  await em.flush();
  return file.id;
}

/** Sets the files of a post, in this order. */
export async function attachFiles(
  { orm }: Deps,
  workspaceId: string,
  postId: string,
  ids: readonly string[],
): Promise<void> {
  const em = orm.em.fork();
  for (const [position, mediaId] of ids.entries()) {
    em.create(PostMedia, { workspaceId, postId, mediaId, position, fromUrl: false });
  }

  await em.flush();
}
