import {
  anyFields,
  having,
  listOf,
  mayHave,
  text,
  textUpTo,
  type Value,
} from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import { findOwn, type OwnPosts } from '../find-own.ts';
import type { Access } from '../client.ts';
import type { Purpose } from '../http.ts';
import type { Finding, PreparedPart, SentPart } from '../network.ts';
import { ask, call, idSchema, reading, refusedAs } from './client.ts';
import type { YoutubeSettings } from './connect.ts';
import { videoOf, markOf } from './metadata.ts';

const word = textUpTo(100);

/** The used members of a video. Each part is present only if it was requested and this account may read it. */
const videoSchema = having(
  { id: idSchema },
  {
    snippet: mayHave({ title: text, description: text, tags: listOf(text, 1000) }),
    status: mayHave({
      uploadStatus: word,
      failureReason: word,
      rejectionReason: word,
      privacyStatus: word,
    }),
    /** Counts are decimal strings; hidden ones are absent. */
    statistics: anyFields,
    processingDetails: mayHave({
      processingStatus: word,
      processingFailureReason: word,
      /** The time is a decimal string. */
      processingProgress: mayHave({ timeLeftMs: { type: ['string', 'number'] } }),
    }),
  },
);

export type Video = Value<typeof videoSchema>;

export const parseVideo = answerReader(videoSchema);

const readVideos = answerReader(mayHave({ items: listOf(videoSchema, 50) }));

export const mostVideos = 50;

/** The existing videos, in any order. Costs 1 unit of the quota. @param parts The parts to read: `snippet,status`. */
export async function videosWith(
  access: Access,
  ids: readonly string[],
  parts: string,
  purpose: Purpose,
): Promise<readonly Video[]> {
  const query = { part: parts, id: ids.join(',') };
  return (await ask(access, reading('videos', query, purpose, 'video'), readVideos)).items ?? [];
}

export const sentVideo = ({ id }: Video, { webUrl }: YoutubeSettings): SentPart => ({
  remoteId: id,
  url: `${webUrl}/watch?v=${encodeURIComponent(id)}`,
});

const pageSchema = mayHave({
  items: listOf(
    having({
      snippet: having({
        publishedAt: textUpTo(40),
        resourceId: having({ videoId: idSchema }),
      }),
    }),
    mostVideos,
  ),
  nextPageToken: textUpTo(2000),
});

type Page = Value<typeof pageSchema>;

const readPage = answerReader(pageSchema);

/** 200 videos since a post began exceed what a channel uploads. */
const maxPages = 4;

/** How far YouTube's clock may be behind ours, in milliseconds. */
const clockSkewMs = 10 * 60_000;

/**
 * Searches the channel's uploads since the part was prepared for its video. Used when the session cannot tell any more.
 *
 * The part's mark in the tags is proof. When the tags had no room for the mark, title, description and tags are
 * compared.
 */
export const findVideos = (
  access: Access,
  part: PreparedPart,
  sinceMs: number,
  settings: YoutubeSettings,
): Promise<Finding> =>
  findOwn(uploadsSince(access, sinceMs - clockSkewMs, settings), async (uploads) => {
    const videos: Video[] = [];
    for (let from = 0; from < uploads.length; from += mostVideos) {
      const ids = uploads.slice(from, from + mostVideos).map(({ id }) => id);
      videos.push(...(await videosWith(access, ids, 'snippet,status', 'reconcile')));
    }

    return uploads
      .flatMap(({ id }) => videos.find((video) => video.id === id) ?? [])
      .filter((video) => isOf(video, part))
      .map((video) => sentVideo(video, settings));
  });

function isOf({ snippet = {} }: Video, part: PreparedPart): boolean {
  const { title, description, tags } = videoOf(part).snippet;
  const mark = markOf(part);
  const has = new Set(snippet.tags);
  if (has.has(mark)) {
    return true;
  }
  if (tags.includes(mark)) {
    return false;
  }

  return (
    snippet.title?.trim() === title.trim() &&
    (snippet.description ?? '').trim() === description.trim() &&
    has.size === new Set(tags).size &&
    tags.every((tag) => has.has(tag))
  );
}

const uploadsSince = (
  access: Access,
  sinceMs: number,
  { uploadsPlaylist }: YoutubeSettings,
): OwnPosts<{ readonly id: string }, string> => ({
  mostPages: maxPages,
  tooMany: `The channel has over ${maxPages * mostVideos} newer videos`,
  page: async (token) => {
    const { items = [], nextPageToken } = await pageOf(access, uploadsPlaylist, token);
    const newer = items.filter(({ snippet }) => !(Date.parse(snippet.publishedAt) < sinceMs));
    const posts = newer.map(({ snippet }) => ({ id: snippet.resourceId.videoId }));
    return { posts, next: newer.length < items.length ? undefined : nextPageToken };
  },
});

async function pageOf(access: Access, playlistId: string, pageToken?: string): Promise<Page> {
  const query = {
    part: 'snippet',
    playlistId,
    maxResults: String(mostVideos),
    ...(pageToken !== undefined && { pageToken }),
  };
  const request = reading('playlistItems', query, 'reconcile', 'account');
  const response = await call(access, request);
  // A channel without videos has no uploads playlist.
  if (response.status === 404 && refusedAs(response, 'playlistNotFound')) {
    return {};
  }

  return response.as(readPage);
}
