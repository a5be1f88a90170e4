import { answerReader } from '../answer.ts';
import { NetworkError } from '../network.ts';
import type { Access } from '../access-token.ts';
import { callAs, idSchema } from './client.ts';
import { postFields, type OwnPost, type OwnPosts } from './wire.ts';

const nullable = (schema: object) => ({ ...schema, nullable: true });
const readOwnPosts = answerReader<OwnPosts>({
  type: 'object',
  properties: {
    data: {
      type: 'array',
      items: {
        type: 'object',
        // X says nothing of fields that it does not know: without this one it did not hear what it was asked for.
        required: ['id', 'text', 'conversation_id'],
        properties: {
          id: idSchema,
          text: { type: 'string' },
          conversation_id: idSchema,
          attachments: {
            type: 'object',
            properties: {
              media_keys: nullable({ type: 'array', items: { type: 'string' } }),
            },
          },
          entities: {
            type: 'object',
            properties: {
              urls: nullable({
                type: 'array',
                items: {
                  type: 'object',
                  properties: {
                    url: nullable({ type: 'string' }),
                    expanded_url: nullable({ type: 'string' }),
                    media_key: nullable({ type: 'string' }),
                  },
                },
              }),
            },
          },
        },
      },
    },
    meta: {
      type: 'object',
      properties: { next_token: { type: 'string', minLength: 1, maxLength: 1000 } },
    },
  },
});

/** X charges a read for each post that it answers with, and none for a page. */
const pageSize = 100;
const maxPages = 2;

/**
 * What an account posted after an id, oldest first, replies included and reposts not.
 *
 * Source: https://docs.x.com/x-api/users/get-posts
 *
 * @returns also whether these are all: there may be too many to see them all.
 */
export async function ownPostsSince(
  access: Access,
  accountId: string,
  sinceId: string,
): Promise<{ readonly posts: readonly OwnPost[]; readonly isWhole: boolean }> {
  const found: OwnPost[] = [];
  let cursor: Record<string, string> = {};
  for (let pages = 0; pages < maxPages; pages += 1) {
    const search = new URLSearchParams({
      max_results: String(pageSize),
      since_id: sinceId,
      exclude: 'retweets',
      'post.fields': postFields.join(','),
      ...cursor,
    });
    const path = `/2/users/${encodeURIComponent(accountId)}/tweets?${search}`;
    const request = { method: 'GET', path, purpose: 'reconcile' } as const;
    const { data = [], meta } = await callAs(access, request, readOwnPosts);
    found.push(...data);
    if (meta?.next_token === undefined) {
      return { posts: found.toReversed(), isWhole: true };
    }

    cursor = { pagination_token: meta.next_token };
  }

  return { posts: found.toReversed(), isWhole: false };
}

/** A post that is not among those that were seen may be one of the others. */
export function tooMany(): NetworkError {
  const message = `The account has over ${maxPages * pageSize} newer posts, too many to look through.`;
  return new NetworkError('unconfirmed', message, { taken: 'unknown' });
}

/** X's ids begin with the time, in milliseconds since then. */
const firstMs = 1_288_834_974_657n;
/** Behind it they count, 22 bits. */
const bitsOfCount = 22n;

/** The id before any that X gives out from a time on. @param timeMs Since 1970. */
export function idBefore(timeMs: number): string {
  const sinceMs = BigInt(Math.floor(timeMs)) - firstMs;
  return String(sinceMs > 0n ? sinceMs << bitsOfCount : 1n);
}
