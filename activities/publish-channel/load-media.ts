import type { Readable } from 'node:stream';
import { NetworkError, type PartMedia } from '../../networks/network.ts';
import { describeError } from '../../runtime/describe-error.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishRequest } from './target.ts';

type Row = {
  id: string;
  name: string;
  type: string;
  /** A bigint comes as text. */
  size_bytes: string;
  width: number | null;
  height: number | null;
  duration_ms: number | null;
  storage_key: string;
  deleted_at: string | Date | null;
};

/**
 * The files of a post, in order, the deleted ones too: a post never goes out without a file that it was to have, so
 * whoever opens one of those fails.
 */
export async function loadMedia(
  deps: ActivityDeps,
  { workspaceId, postId }: PublishRequest,
): Promise<PartMedia[]> {
  const rows = await deps.orm.em.fork().execute<Row[]>(
    `select m.id, m.name, m.type, m.size_bytes, m.width, m.height, m.duration_ms, m.storage_key, m.deleted_at
     from post_media pm
     join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
     where pm.post_id = ? and pm.workspace_id = ? order by pm.position`,
    [postId, workspaceId],
  );
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    type: row.type,
    sizeBytes: Number(row.size_bytes),
    width: row.width,
    height: row.height,
    durationMs: row.duration_ms,
    open: () => openFile(deps, row),
  }));
}

async function openFile(deps: ActivityDeps, row: Row): Promise<Readable> {
  const stream = row.deleted_at === null ? await openStored(deps, row) : null;
  if (stream === null) {
    const message = `The file "${row.name}" is no longer in the media library, and the post does not go out without it.`;
    throw new NetworkError('media_refused', message, { taken: 'no' });
  }

  return stream;
}

/** The message is for the post's owner; what exactly is wrong with the storage is for the operator. */
async function openStored({ storage, log }: ActivityDeps, row: Row): Promise<Readable | null> {
  const tell = (error: unknown) =>
    log.warn({ file: row.id, error: describeError(error) }, 'a file cannot be read');
  try {
    const stream = await storage.open(row.storage_key);
    return stream?.on('error', tell) ?? null;
  } catch (error) {
    tell(error);
    const message = `The file "${row.name}" could not be read: the media storage does not answer.`;
    throw new NetworkError('network_unavailable', message, { taken: 'no', cause: error });
  }
}
