import { answerReader } from '../answer.ts';
import { NetworkError } from '../network.ts';
import type { TokenAccess } from '../access-token.ts';
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
        // X ignores unknown parameters: a response without this field ignored `post.fields`.
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

/** X charges one read per post in a response, and nothing for a page. */
const pageSize = 100;
const maxPages = 2;

/**
 * The account's posts after an id, oldest first, with replies and without reposts.
 *
 * Source: https://docs.x.com/x-api/users/get-posts
 *
 * @returns also whether the list is complete; there may be too many posts to read.
 */
export async function ownPostsSince(
  access: TokenAccess,
  accountId: string,
  sinceId: string,
): Promise<{ readonly posts: readonly OwnPost[]; readonly isComplete: boolean }> {
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
      return { posts: found.toReversed(), isComplete: true };
    }

    cursor = { pagination_token: meta.next_token };
  }

  return { posts: found.toReversed(), isComplete: false };
}

/** The post may be one of those that were not read. */
export function tooMany(): NetworkError {
  const message = `The account has over ${maxPages * pageSize} newer posts, too many to search.`;
  return new NetworkError('unconfirmed', message, { accepted: 'unknown' });
}

/** The epoch of X's ids, which begin with a time in milliseconds. */
const firstMs = 1_288_834_974_657n;
/** The number of bits after the time, which hold a counter. */
const bitsOfCount = 22n;

/** The largest id before those that X issues from a time on. @param timeMs In milliseconds since 1970. */
export function idBefore(timeMs: number): string {
  const sinceMs = BigInt(Math.floor(timeMs)) - firstMs;
  return String(sinceMs > 0n ? sinceMs << bitsOfCount : 1n);
}
