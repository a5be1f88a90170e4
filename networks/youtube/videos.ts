import { answerReader } from '../answer.ts';
import type { SentPart } from '../network.ts';
import type { TokenAccess } from '../access-token.ts';
import { answerOf, get, idSchema } from './client.ts';
import type { Purpose } from '../send-network-request.ts';
import type { YoutubeSettings } from './settings.ts';

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
  readonly statistics?: { readonly likeCount?: unknown; readonly commentCount?: unknown };
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
  const response = await get(access, { path: 'videos', query }, purpose);
  const { accessToken } = access;
  return answerOf(response, { purpose, accessToken, about: 'video' }, readVideos).items ?? [];
}

export const sentVideo = ({ id }: Video, { webUrl }: YoutubeSettings): SentPart => ({
  remoteId: id,
  url: `${webUrl}/watch?v=${encodeURIComponent(id)}`,
});
