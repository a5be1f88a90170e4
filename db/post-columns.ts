import { sql, type RawBuilder } from 'kysely';

/**
 * SQL: when a post is to go out, which is the time of its retry if it has one. The indexes of `posts` hold the same
 * expression.
 *
 * @param posts What the statement calls the table.
 */
export const dueAt = (posts = 'posts'): RawBuilder<Date | null> =>
  sql`coalesce(${sql.ref(`${posts}.retried_at`)}, ${sql.ref(`${posts}.scheduled_at`)})`;

/** SQL: the networks that a row of `posts` is to go to, as an array. */
export const networksOfPost: RawBuilder<string[]> = sql`array(
  select distinct c.platform from post_channels pc
  join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
  where pc.post_id = posts.id and pc.workspace_id = posts.workspace_id)`;
