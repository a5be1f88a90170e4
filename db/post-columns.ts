import { sql, type RawBuilder } from 'kysely';

/**
 * SQL: a post's due time, which is the time of its retry if there is one. The indexes of `posts` use the same
 * expression.
 *
 * @param posts Alias of the table.
 */
export const dueAt = (posts = 'posts'): RawBuilder<Date | null> =>
  sql`coalesce(${sql.ref(`${posts}.retried_at`)}, ${sql.ref(`${posts}.scheduled_at`)})`;

/** SQL: networks of the channels of a row of `posts`, as an array. */
export const networksOfPost: RawBuilder<string[]> = sql`array(
  select distinct c.platform from post_channels pc
  join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
  where pc.post_id = posts.id and pc.workspace_id = posts.workspace_id)`;
