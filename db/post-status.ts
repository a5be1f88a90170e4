import { sql, type RawBuilder } from 'kysely';
import type { KeyHolder } from '../domain/api-keys.ts';

/*
 * Conditions and columns of a post, as SQL. `posts` is the alias of the table in the statement. The indexes of `posts`
 * use the same expressions.
 */

/** SQL: the post is a draft or scheduled, so nothing of it is being published. */
export const isWaitingPost = (posts = 'posts'): RawBuilder<boolean> =>
  sql`${statusOf(posts)} in ('draft', 'scheduled')`;

/** SQL: the post is scheduled or being published. */
export const isOpenPost = (posts = 'posts'): RawBuilder<boolean> =>
  sql`${statusOf(posts)} in ('scheduled', 'publishing')`;

export const isEndedPost = (posts = 'posts'): RawBuilder<boolean> =>
  sql`${statusOf(posts)} in ('published', 'failed')`;

const statusOf = (posts: string): RawBuilder<unknown> => sql.ref(`${posts}.status`);

/** SQL: a post's due time, which is the time of its retry if there is one. */
export const dueAt = (posts = 'posts'): RawBuilder<Date | null> =>
  sql`coalesce(${sql.ref(`${posts}.retried_at`)}, ${sql.ref(`${posts}.scheduled_at`)})`;

/** SQL: whether a key's holder may read the post `p`, and so learn its id. */
export const isReached = ({ channelIds = null }: Partial<KeyHolder>): RawBuilder<boolean> =>
  sql`(${channelIds}::uuid[] is null or exists (select from post_channels reached where reached.post_id = p.id
    and reached.workspace_id = p.workspace_id and reached.channel_id = any(${channelIds}::uuid[])))`;
