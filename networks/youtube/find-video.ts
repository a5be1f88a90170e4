import { answerReader } from '../answer.ts';
import { NetworkError, type PreparedPart } from '../network.ts';
import type { Access } from '../access-token.ts';
import { answerOf, get, idSchema } from './client.ts';
import { refusedAs } from './refusals.ts';
import type { YoutubeSettings } from './settings.ts';
import { videoOf } from './prepared.ts';
import { markOf } from './video-resource.ts';
import { mostVideos, videosWith, type Video } from './videos.ts';

type Item = {
  readonly snippet: {
    /** When it was uploaded. */
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

/** 200 videos since a post began are far more than a channel uploads. */
const maxPages = 4;
/** How far YouTube's clock may be behind ours. */
const clockSkewMs = 10 * 60_000;

/**
 * The videos that may be a part's, of all that the channel uploaded since it was prepared; oldest first. For when the
 * session cannot tell any more.
 *
 * A video with the part's mark is the part's for certain. One without any room for the mark in its tags is known by all
 * that was said of it.
 *
 * @throws NetworkError `unconfirmed` when there are too many uploads to see them all.
 */
export async function findVideos(
  access: Access,
  part: PreparedPart,
  sinceMs: number,
  settings: YoutubeSettings,
): Promise<Video[]> {
  const ids = await uploadsSince(access, sinceMs - clockSkewMs, settings);
  const videos: Video[] = [];
  for (let from = 0; from < ids.length; from += mostVideos) {
    const some = ids.slice(from, from + mostVideos);
    videos.push(...(await videosWith(access, some, 'snippet,status', 'reconcile')));
  }

  const oldestFirst = ids
    .toReversed()
    .flatMap((id) => videos.find((video) => video.id === id) ?? []);
  return oldestFirst.filter((video) => isOf(video, part));
}

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

/** Newest first. */
async function uploadsSince(
  access: Access,
  sinceMs: number,
  { uploadsPlaylist }: YoutubeSettings,
): Promise<string[]> {
  const ids: string[] = [];
  let pageToken: string | undefined;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const { items = [], nextPageToken } = await pageOf(access, uploadsPlaylist, pageToken);
    const newer = items.filter(({ snippet }) => !(Date.parse(snippet.publishedAt) < sinceMs));
    ids.push(...newer.map(({ snippet }) => snippet.resourceId.videoId));
    if (newer.length < items.length || nextPageToken === undefined) {
      return [...new Set(ids)];
    }
    pageToken = nextPageToken;
  }

  const message = `The channel has over ${maxPages * mostVideos} newer videos, too many to look through.`;
  throw new NetworkError('unconfirmed', message, { taken: 'unknown' });
}

async function pageOf(access: Access, playlistId: string, pageToken?: string): Promise<Page> {
  const query = {
    part: 'snippet',
    playlistId,
    maxResults: String(mostVideos),
    ...(pageToken !== undefined && { pageToken }),
  };
  const response = await get(access, { path: 'playlistItems', query }, 'reconcile');
  // A channel without a video has no playlist of them either.
  if (response.status === 404 && refusedAs(response, 'playlistNotFound')) {
    return {};
  }

  const { accessToken } = access;
  return answerOf(response, { purpose: 'reconcile', accessToken, about: 'account' }, readPage);
}
