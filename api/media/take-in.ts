import { stat } from 'node:fs/promises';
import { newId } from '../../db/new-id.ts';
import { AppError } from '../../domain/errors.ts';
import { inspectFile } from '../../runtime/media/inspect-file.ts';
import { newLinkToken } from '../../runtime/token.ts';
import type { ApiDeps } from '../deps.ts';
import { fileName } from './file-name.ts';
import type { NewMedia } from './new-media.ts';
import { noteFile } from './unsettled-files.ts';

/**
 * Looks at a file that has come whole, and stores it. From then on somebody must settle it (see `StoredMedia`).
 *
 * @param filePath In the staging folder; whether it is still there afterwards is open.
 * @param name As its sender called it.
 * @throws AppError `invalid_media` when it is no image and no video, `unavailable` when there is no room.
 */
export async function takeIn(
  { orm, media: { storage } }: Pick<ApiDeps, 'orm' | 'media'>,
  filePath: string,
  name: string | undefined,
): Promise<NewMedia> {
  const facts = await inspectFile(filePath);
  if ('refusal' in facts) {
    throw new AppError('invalid_media', facts.refusal);
  }

  const { size: sizeBytes } = await stat(filePath);
  const id = newId();
  await noteFile(orm.em.fork(), id);
  await storage.put(id, filePath, { type: facts.type, sizeBytes });
  return {
    ...facts,
    id,
    name: fileName(name, facts.type),
    sizeBytes,
    storageKey: id,
    linkToken: newLinkToken(),
  };
}
