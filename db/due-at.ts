import { sql, type RawBuilder } from 'kysely';

/**
 * SQL: when a post is to go out, which is the time of its retry if it has one. The indexes of `posts` hold the same
 * expression.
 *
 * @param posts What the statement calls the table.
 */
export const dueAt = (posts = 'posts'): RawBuilder<Date | null> =>
  sql`coalesce(${sql.ref(`${posts}.retried_at`)}, ${sql.ref(`${posts}.scheduled_at`)})`;
