import { stat } from 'node:fs/promises';
import { newId } from '../../db/new-id.ts';
import { AppError } from '../../domain/errors.ts';
import { inspectFile } from '../../runtime/media/inspect-file.ts';
import { newLinkToken } from '../../runtime/token.ts';
import { fileName } from './file-name.ts';
import type { MediaDeps } from './media-deps.ts';
import type { NewMedia } from './new-media.ts';

/**
 * Looks at a file that has come whole, and stores it. From then on somebody must settle it (see `StoredMedia`).
 *
 * @param filePath In the staging folder; whether it is still there afterwards is open.
 * @param name As its sender called it.
 * @throws AppError `invalid_media` when it is no image and no video, `unavailable` when there is no room.
 */
export async function takeIn(
  { storage, staging }: MediaDeps,
  filePath: string,
  name: string | undefined,
): Promise<NewMedia> {
  const facts = await inspectFile(filePath);
  if ('refusal' in facts) {
    throw new AppError('invalid_media', facts.refusal);
  }

  const { size: sizeBytes } = await stat(filePath);
  const id = newId();
  await staging.note(id);
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
