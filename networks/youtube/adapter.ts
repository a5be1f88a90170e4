import type { youtube_v3 } from '@googleapis/youtube';
import {
  having,
  listOf,
  mayHave,
  text as textSchema,
  textUpTo,
  type Json,
  type Value,
} from '../../domain/json-schema.ts';
import { normalized } from '../../domain/texts.ts';
import { answerReader, comparedText } from '../answer.ts';
import type { Access } from '../client.ts';
import { findOwn, findingOf, type OwnPosts } from '../find-own.ts';
import {
  onlyPart,
  type Connection,
  type Finding,
  type Network,
  type PreparedPart,
  type SentPart,
} from '../network.ts';
import { keptUploads } from '../uploads/resumable.ts';
import { ask, deleteResource, idSchema, reading } from './client.ts';
import { settingsOf, type YoutubeSettings } from './connect.ts';
import { chosenIn, readPrepared, type Prepared, videoResource } from './metadata.ts';
import { metrics } from './metrics.ts';
import { readinessOf } from './readiness.ts';
import { rules } from './rules.ts';
import { putChunk, type UploadSession } from './upload-session.ts';
import { finishVideo, type Upload, uploadVideo } from './uploads.ts';
import { findVideos, sentVideo, videosWith } from './videos.ts';

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

const threadSchema = having(
  { id: idSchema },
  {
    snippet: mayHave({
      topLevelComment: mayHave({
        snippet: mayHave({
          textOriginal: comparedText,
          authorChannelId: mayHave({ value: textSchema }),
        }),
      }),
    }),
  },
);

type Thread = Value<typeof threadSchema>;

const readThread = answerReader(threadSchema);

const pageSchema = mayHave({ items: listOf(threadSchema, 100), nextPageToken: textUpTo(2000) });

type Page = Value<typeof pageSchema>;

const readPage = answerReader(pageSchema);

/** 500 comments are far more than a video gets in the first minutes, when its comment is reconciled. */
const maxPages = 5;

/**
 * Writes a comment under a video, as the channel. Skips private videos: they have no comments, and YouTube makes all
 * videos of unaudited apps private. Must not be repeated without a reconcile. Needs the scope `youtube.force-ssl`.
 *
 * Source: https://developers.google.com/youtube/v3/docs/commentThreads/insert
 */
export async function createComment(
  access: Access,
  { text }: PreparedPart,
  video: SentPart,
  settings: YoutubeSettings,
): Promise<SentPart> {
  const [found] = await videosWith(access, [video.remoteId], 'status', 'prepare');
  if (found?.status?.privacyStatus === 'private') {
    const warning =
      'The first comment was left out: the video is private, and YouTube allows no comments there.';
    return { remoteId: `${video.remoteId}#no-comment`, url: video.url, warning };
  }

  const body: youtube_v3.Schema$CommentThread = {
    snippet: {
      videoId: video.remoteId,
      topLevelComment: { snippet: { textOriginal: text } },
    },
  };
  const request = {
    method: 'POST',
    path: '/youtube/v3/commentThreads?part=snippet',
    body,
    purpose: 'create',
    about: 'comment',
  } as const;
  const thread = await ask(access, request, readThread);
  return sentComment(thread, video, settings);
}

/** Searches the comments under a video for the channel's own one with a text. */
export const findComments = (
  access: Access,
  { text }: PreparedPart,
  video: SentPart,
  author: { readonly remoteId: string; readonly settings: YoutubeSettings },
): Promise<Finding> => {
  const comments: OwnPosts<Thread, string> = {
    mostPages: maxPages,
    tooMany: `The video has over ${maxPages * 100} comments`,
    page: async (token) => {
      const { items = [], nextPageToken } = await pageOf(access, video, token);
      return { posts: items, next: nextPageToken };
    },
  };
  return findOwn(comments, (threads) =>
    threads
      .filter(({ snippet }) => {
        const { textOriginal = '', authorChannelId } = snippet?.topLevelComment?.snippet ?? {};
        return authorChannelId?.value === author.remoteId && isSame(textOriginal, text);
      })
      .map((thread) => sentComment(thread, video, author.settings)),
  );
};

function pageOf(access: Access, video: SentPart, pageToken?: string): Promise<Page> {
  const query = {
    part: 'snippet',
    videoId: video.remoteId,
    order: 'time',
    maxResults: '100',
    textFormat: 'plainText',
    ...(pageToken !== undefined && { pageToken }),
  };
  return ask(access, reading('commentThreads', query, 'reconcile', 'comment'), readPage);
}

/** YouTube trims comments and changes their line ends. */
const isSame = (said: string, text: string): boolean => plain(said) === plain(text);

const plain = (text: string): string => normalized(text, 'NFC').replaceAll(/\r\n?/gu, '\n').trim();

function sentComment({ id }: Thread, video: SentPart, settings: YoutubeSettings): SentPart {
  const { url } = sentVideo({ id: video.remoteId }, settings);
  return { remoteId: id, url: `${url}&lc=${encodeURIComponent(id)}` };
}
