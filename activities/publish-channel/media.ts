import type { Readable } from 'node:stream';
import { NetworkError, type PartMedia } from '../../networks/network.ts';
import { describeError } from '../../runtime/describe-error.ts';
import type { ActivityDeps } from '../deps.ts';

/** A file in {@link mediaColumn}. */
export type MediaRow = {
  id: string;
  name: string;
  type: string;
  size_bytes: number;
  width: number | null;
  height: number | null;
  duration_ms: number | null;
  storage_key: string;
  deleted_at: string | null;
};

/**
 * What a statement that has the post as `p` selects for {@link mediaOf}: its files, in order, the deleted ones too, as a
 * post never goes out without a file that it was to have.
 */
export const mediaColumn = `(select json_agg(json_build_object('id', m.id, 'name', m.name, 'type', m.type,
      'size_bytes', m.size_bytes, 'width', m.width, 'height', m.height, 'duration_ms', m.duration_ms,
      'storage_key', m.storage_key, 'deleted_at', m.deleted_at) order by pm.position)
    from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
    where pm.post_id = p.id and pm.workspace_id = p.workspace_id) as media`;

/** The files of a post. Whoever opens a deleted one fails. */
export const mediaOf = (deps: ActivityDeps, rows: readonly MediaRow[] | null): PartMedia[] =>
  (rows ?? []).map((row) => ({
    id: row.id,
    name: row.name,
    type: row.type,
    sizeBytes: row.size_bytes,
    width: row.width,
    height: row.height,
    durationMs: row.duration_ms,
    open: () => openFile(deps, row),
  }));

async function openFile(deps: ActivityDeps, row: MediaRow): Promise<Readable> {
  const stream = row.deleted_at === null ? await openStored(deps, row) : null;
  if (stream === null) {
    const message = `The file "${row.name}" is no longer in the media library, and the post does not go out without it.`;
    throw new NetworkError('media_refused', message, { taken: 'no' });
  }

  return stream;
}

/** The message is for the post's owner; what exactly is wrong with the storage is for the operator. */
async function openStored({ storage, log }: ActivityDeps, row: MediaRow): Promise<Readable | null> {
  const tell = (error: unknown) =>
    log.warn({ file: row.id, error: describeError(error) }, 'a file cannot be read');
  try {
    const stream = await storage.open(row.storage_key);
    return stream?.on('error', tell) ?? null;
  } catch (error) {
    tell(error);
    const message = `The file "${row.name}" could not be read: the media storage of this service does not answer. Whoever runs it finds the reason in the worker's log.`;
    throw new NetworkError('internal', message, { taken: 'no', cause: error });
  }
}
