import { MediaFile } from '../../db/entities/media-file.ts';
import type { Punctual } from '../support/punctual.ts';

/** Stores the row of an image, as an upload does; its bytes are nowhere. @returns its id. */
export async function storeMedia(
  { orm }: Punctual,
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
    deletedAt: null,
    ...facts,
  });
  await em.flush();
  return file.id;
}
