import { sql } from 'kysely';
import { flag } from '../../domain/json-schema.ts';

/**
 * Limit of a body, or of all texts of a thread together, in lists and analytics, in characters. A page has a hundred
 * posts, and full texts could make it megabytes.
 */
const longestListed = 10_000;

const most = sql.lit(longestListed);

/** SQL: the texts of the post `p`, cut inside the database. A thread keeps all its parts. */
export const cutTexts = sql`left(p.body, ${most}) as body,
  case when p.thread is null or length(p.thread::text) <= ${most} then p.thread else (
    select jsonb_agg(left(part, greatest(0, ${most} - before)::int) order by n) from (
      select part, n, sum(length(part)) over (order by n) - length(part) as before
      from jsonb_array_elements_text(p.thread) with ordinality as parts(part, n)) located
  ) end as thread,
  coalesce(length(p.body) > ${most}, false) or coalesce(length(p.thread::text) > ${most} and (
    select sum(length(part)) from jsonb_array_elements_text(p.thread) part) > ${most}, false) as body_truncated`;

/** The field that reports a cut. */
export const bodyTruncated = {
  ...flag,
  description:
    'Whether `body`, or the texts of `thread` together, exceed 10,000 characters and are cut here. `GET /posts/{id}` has the full texts.',
};
