import { knownId, listOf, oneOf, text } from '../../domain/json-schema.ts';
import { endedOutcomes, postStatuses } from '../../domain/statuses.ts';
import { platforms } from '../../networks/registry.ts';
import { cursorQuery } from '../../services/cursor.ts';
import { listOrders } from '../../services/posts/list-posts.ts';
import { postTimes } from '../../services/posts/search-posts.ts';

/** Maximum posts per page. */
export const mostListed = 100;

const word = { ...text, minLength: 1, maxLength: 255 };

/** The query of `GET /posts`. */
export const listQuery = {
  status: {
    description: 'Only posts with this status, or with one of these: repeat the parameter.',
    schema: { ...listOf(oneOf(postStatuses)), maxItems: postStatuses.length },
  },
  outcome: {
    description: 'Only posts that ended like this.',
    schema: oneOf(endedOutcomes),
  },
  channel_id: { description: 'Only posts on this channel.', schema: knownId },
  platform: {
    description: 'Only posts on a channel of this network.',
    schema: oneOf(platforms),
  },
  tag: { description: 'Only posts with this tag, as it was sent.', schema: word },
  external_id: { description: 'Only the post with this `external_id`.', schema: word },
  q: {
    description:
      'Only posts with all these words in their texts, in any case and order. The first 50,000 characters of a post are searched.',
    schema: { ...text, minLength: 1, maxLength: 500 },
  },
  from: {
    description: 'Only posts whose `date_field` is at this time or later: RFC 3339.',
    schema: text,
  },
  to: { description: 'Only posts whose `date_field` is before this time.', schema: text },
  date_field: {
    description: 'The time that `from` and `to` compare.',
    schema: { ...oneOf(postTimes), default: 'scheduled_at' },
  },
  sort: {
    description:
      'The time that orders the posts: by default the `date_field` with `from` or `to`, otherwise `created_at`.',
    schema: oneOf(postTimes),
  },
  order: {
    description: '`desc`: the latest first.',
    schema: { ...oneOf(listOrders), default: 'desc' },
  },
  limit: {
    description: 'The maximum number of posts.',
    schema: { type: 'integer', minimum: 1, maximum: mostListed, default: mostListed },
  },
  cursor: {
    ...cursorQuery,
    description: `${cursorQuery.description} Send the same filters and order with it.`,
  },
} as const;
