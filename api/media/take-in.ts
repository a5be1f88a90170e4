import { stat } from 'node:fs/promises';
import { newId } from '../../db/new-id.ts';
import { AppError } from '../../domain/errors.ts';
import { newLinkToken } from '../../runtime/token.ts';
import type { ApiDeps } from '../deps.ts';
import { fileName } from './file-name.ts';
import type { NewMedia } from './new-media.ts';
import { noteFile } from './unsettled-files.ts';

/** A file's sender, and what they say of it. */
export type Sent = {
  /** As its sender called it. */
  readonly name: string | undefined;
  readonly workspaceId: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal | undefined;
};

/**
 * Looks at a file that has come whole, and stores it. From then on somebody must settle it (see `StoredMedia`).
 *
 * @param filePath In the staging folder; whether it is still there afterwards is open.
 * @throws AppError `invalid_media` when it is no image and no video, `unavailable` when there is no room, or when too many
 * others are to be looked at before it; the signal's reason.
 */
export async function takeIn(
  { orm, media: { storage, inspector } }: Pick<ApiDeps, 'orm' | 'media'>,
  filePath: string,
  { name, workspaceId, signal }: Sent,
): Promise<NewMedia> {
  const facts = await inspector.inspect(filePath, workspaceId, signal);
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
