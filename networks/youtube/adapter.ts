import type { Json } from '../../domain/json-schema.ts';
import { findingOf } from '../find-own.ts';
import {
  type Connection,
  type Finding,
  type Network,
  type PreparedPart,
  onlyPart,
} from '../network.ts';
import { keptUploads } from '../uploads/resumable.ts';
import { deleteResource } from './client.ts';
import { createComment, findComments } from './comments.ts';
import { settingsOf, type YoutubeSettings } from './connect.ts';
import { chosenIn, type Prepared, readPrepared, videoResource } from './metadata.ts';
import { metrics } from './metrics.ts';
import { readinessOf } from './readiness.ts';
import { rules } from './rules.ts';
import { putChunk, type UploadSession } from './upload-session.ts';
import { finishVideo, uploadVideo, type Upload } from './uploads.ts';
import { findVideos, sentVideo } from './videos.ts';

/**
 * YouTube: a post is one video, and its second part the first comment under it.
 *
 * The whole video except its last chunk is uploaded before the intent is committed, which creates nothing. The last
 * chunk creates the video. A reconcile asks the upload session, and after the session's end searches the channel's
 * uploads for a mark in the video's tags.
 */
export const youtubeNetwork: Network = {
  id: 'youtube',
  rules,
  threads: 'sequential',
  metrics,

  async prepare(_connection, parts, nowMs, before = []) {
    return parts.map((part, index) => {
      const kind = index === 0 && before.length === 0 ? 'video' : 'comment';
      const video = kind === 'video' && { video: videoResource(part) };
      const prepared: Prepared = { kind, sinceMs: nowMs, ...video };
      const data: Json = JSON.parse(JSON.stringify(prepared));
      return { ...part, data };
    });
  },

  async upload(connection, step) {
    const part = onlyPart(step);
    if (step.sent.length > 0) {
      return [];
    }

    return [JSON.stringify(await uploadVideo(connection, part))];
  },

  async send(connection, step, files) {
    const settings = ownSettings(connection);
    const part = onlyPart(step);
    const [video] = step.sent;
    if (video) {
      return [await createComment(connection, part, video, settings)];
    }

    const made = await finishVideo(connection, part, uploadIn(files));
    return [sentVideo(made, settings)];
  },

  async reconcile(connection, step) {
    const settings = ownSettings(connection);
    const part = onlyPart(step);
    const [video] = step.sent;
    if (video) {
      const author = { remoteId: connection.remoteId, settings };
      return findComments(connection, part, video, author);
    }

    const known = await askKept(connection, part);
    if (known !== null) {
      return known;
    }

    const sinceMs = readPrepared(part.data)?.sinceMs ?? 0;
    return findVideos(connection, part, sinceMs, settings);
  },

  async remove(connection, live) {
    const kind = live.length > 1 ? 'comment' : 'video';
    return deleteResource(connection, kind, live.at(-1)?.remoteId ?? '');
  },

  async readiness(connection, part, sent) {
    if (readPrepared(part.data)?.kind === 'comment') {
      return { kind: 'ready' };
    }

    const { privacy = 'public', thumbnail: chosen } = chosenIn(part.options);
    const thumbnail =
      part.optionFiles?.['thumbnail'] ?? (chosen === undefined ? chosen : 'missing');
    return readinessOf(connection, sent, { privacy, thumbnail });
  },
};

/** Asks the stored session. Null when it cannot tell; the channel's uploads are then searched. */
async function askKept(connection: Connection, part: PreparedPart): Promise<Finding | null> {
  const [session] = keptUploads<UploadSession>(connection, part);
  if (!session) {
    return null;
  }

  const progress = await putChunk(connection, session, 'reconcile');
  if (progress.kind === 'finished') {
    return findingOf([sentVideo(progress.video, ownSettings(connection))]);
  }

  // A session with the whole file may have created a video without reporting it.
  const lacksBytes = progress.kind === 'partial' && progress.received < session.sizeBytes;
  return lacksBytes ? { kind: 'absent' } : null;
}

const ownSettings = ({ settings, remoteId }: Connection): YoutubeSettings =>
  settingsOf(settings, remoteId);

/** Reads the value that `upload` returned instead of a file id. */
const uploadIn = ([file = '']: readonly string[]): Upload => JSON.parse(file) as Upload;
