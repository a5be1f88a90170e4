import { answerReader } from '../answer.ts';
import { findOwn, type OwnPosts } from '../find-own.ts';
import type { TokenAccess, Purpose } from '../http.ts';
import type { Finding, PreparedPart, SentPart } from '../network.ts';
import { answerOf, ask, call, idSchema, reading, refusedAs } from './client.ts';
import type { YoutubeSettings } from './connect.ts';
import { videoOf, markOf } from './metadata.ts';

/** The used members of a video. Each part is present only if it was requested and this account may read it. */
export type Video = {
  readonly id: string;
  readonly snippet?: {
    readonly title?: string;
    readonly description?: string;
    readonly tags?: readonly string[];
  };
  readonly status?: {
    readonly uploadStatus?: string;
    readonly failureReason?: string;
    readonly rejectionReason?: string;
    readonly privacyStatus?: string;
  };
  /** Counts are decimal strings; hidden ones are absent. */
  readonly statistics?: object;
  readonly processingDetails?: {
    readonly processingStatus?: string;
    readonly processingFailureReason?: string;
    /** The time is a decimal string. */
    readonly processingProgress?: { readonly timeLeftMs?: string | number };
  };
};

const word = { type: 'string', maxLength: 100 };

const videoSchema = {
  type: 'object',
  required: ['id'],
  properties: {
    id: idSchema,
    snippet: {
      type: 'object',
      properties: {
        title: { type: 'string' },
        description: { type: 'string' },
        tags: { type: 'array', maxItems: 1000, items: { type: 'string' } },
      },
    },
    status: {
      type: 'object',
      properties: {
        uploadStatus: word,
        failureReason: word,
        rejectionReason: word,
        privacyStatus: word,
      },
    },
    statistics: { type: 'object' },
    processingDetails: {
      type: 'object',
      properties: {
        processingStatus: word,
        processingFailureReason: word,
        processingProgress: {
          type: 'object',
          properties: { timeLeftMs: { type: ['string', 'number'] } },
        },
      },
    },
  },
};

export const parseVideo = answerReader<Video>(videoSchema);

const readVideos = answerReader<{ readonly items?: readonly Video[] }>({
  type: 'object',
  properties: { items: { type: 'array', maxItems: 50, items: videoSchema } },
});

/** The largest number of videos per request. */
export const mostVideos = 50;

/** The existing videos, in any order. Costs 1 unit of the quota. @param parts The parts to read: `snippet,status`. */
export async function videosWith(
  access: TokenAccess,
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

type Item = {
  readonly snippet: {
    /** The time of the upload. */
    readonly publishedAt: string;
    readonly resourceId: { readonly videoId: string };
  };
};

type Page = { readonly items?: readonly Item[]; readonly nextPageToken?: string };

const readPage = answerReader<Page>({
  type: 'object',
  properties: {
    items: {
      type: 'array',
      maxItems: mostVideos,
      items: {
        type: 'object',
        required: ['snippet'],
        properties: {
          snippet: {
            type: 'object',
            required: ['publishedAt', 'resourceId'],
            properties: {
              publishedAt: { type: 'string', maxLength: 40 },
              resourceId: {
                type: 'object',
                required: ['videoId'],
                properties: { videoId: idSchema },
              },
            },
          },
        },
      },
    },
    nextPageToken: { type: 'string', maxLength: 2000 },
  },
});

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
  access: TokenAccess,
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
  access: TokenAccess,
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

async function pageOf(access: TokenAccess, playlistId: string, pageToken?: string): Promise<Page> {
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

  return answerOf(response, { ...request, ...access }, readPage);
}
