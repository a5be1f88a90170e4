import {
  having,
  listOf,
  mayHave,
  text as textSchema,
  textUpTo,
  type Value,
} from '../../domain/json-schema.ts';
import type { youtube_v3 } from '@googleapis/youtube';
import { normalized } from '../../domain/texts.ts';
import { answerReader, comparedText } from '../answer.ts';
import { findOwn, type OwnPosts } from '../find-own.ts';
import type { Access } from '../client.ts';
import type { Finding, PreparedPart, SentPart } from '../network.ts';
import { ask, idSchema, reading } from './client.ts';
import type { YoutubeSettings } from './connect.ts';
import { sentVideo, videosWith } from './videos.ts';

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
