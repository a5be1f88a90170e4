import { mostCounted, waitForTurnMs, type Queue } from '../../domain/pacing.ts';
import { ask } from '../../db/ask.ts';
import type { Em } from '../../db/orm.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishTarget } from './target.ts';

export type Turn =
  | { readonly kind: 'go' }
  | { readonly kind: 'wait'; readonly waitMs: number; readonly ahead: number };

type Deps = Pick<ActivityDeps, 'orm' | 'now'>;

/** A post on one of its channels. */
export type LatePost = Pick<
  PublishTarget,
  'workspaceId' | 'channelId' | 'postId' | 'postChannelId' | 'dueAt'
>;

/**
 * Whether a late post goes now. The late posts of a channel go one after the other in order of their times, with a
 * distance. Nothing is reserved: whoever asks under the channel's lock counts who is before it, and there is always
 * one that has nobody before it. So a post that is cancelled, or whose turn never comes, holds up nobody for long.
 */
export async function takeTurn(deps: Deps, target: LatePost): Promise<Turn> {
  return deps.orm.em.fork().transactional(async (em): Promise<Turn> => {
    const channel = [target.channelId, target.workspaceId];
    const [last] = await ask<{ since_ms: number | null; open: number }>(
      em,
      `select (extract(epoch from clock_timestamp() - last_late_send_at) * 1000)::float8 as since_ms,
         (select count(*)::int from (
            select from post_channels where channel_id = $1 and ${isOpen} limit ${fewOpen + 1}) few) as open
       from channels where id = $1 and workspace_id = $2 for no key update`,
      channel,
    );
    const earlier = (last?.open ?? 0) > fewOpen ? earlierByTime : earlierOfChannel;
    const ahead = await countAhead(em, earlier, target, deps.now());
    const queue: Queue = { ahead, sinceLastMs: last?.since_ms ?? null };
    const waitMs = waitForTurnMs(queue);
    if (waitMs > 0) {
      return { kind: 'wait', waitMs, ahead };
    }

    await ask(
      em,
      'update channels set last_late_send_at = clock_timestamp() where id = $1 and workspace_id = $2',
      channel,
    );
    return { kind: 'go' };
  });
}

const dueAt = (table: string): string => `coalesce(${table}.retried_at, ${table}.scheduled_at)`;

const isOpen = `status in ('scheduled', 'publishing', 'retrying')`;

/**
 * While a channel has no more open posts than this, all of them are looked at. One that has more may have tens of
 * thousands that are due in months: then those of its workspace with earlier times are, and whether each goes there.
 */
const fewOpen = 500;

/** Posts of the channel that are open, as `pc` with their rows of `posts` as `p`: what each has is read one by one. */
const earlierOfChannel = `
  (select id, post_id, status, error_code, tried_at, retry_at
   from post_channels where channel_id = $1 and workspace_id = $2 and ${isOpen} limit ${fewOpen}) pc
  cross join lateral (
    select * from posts where id = pc.post_id and workspace_id = $2 and (${dueAt('posts')}, id) < ($4::timestamptz, $5::uuid)
    limit 1) p`;

/** The same in order of their times, down the index `posts_due_by_workspace`, until enough are counted. */
const earlierByTime = `
  (select * from posts where workspace_id = $2 and status in ('scheduled', 'publishing')
     and (${dueAt('posts')}, id) < ($4::timestamptz, $5::uuid) order by ${dueAt('posts')}, id) p
  cross join lateral (
    select id, status, error_code, tried_at, retry_at
    from post_channels where post_id = p.id and channel_id = $1 and workspace_id = $2 and ${isOpen} limit 1) pc`;

/**
 * How many posts of the channel with earlier times are about to go out. One of which nobody knows when it will be
 * tried counts for 2 min only, so that a post whose workflow is gone does not stop the others: by then the sweep has
 * found it, and a dead worker's try has begun anew.
 *
 * - claimed, and its try has not begun: since the claim;
 * - being sent: since its try began;
 * - waiting for its turn or for the end of a limit: since it should have looked again. One that waits after a failure
 *   of its own is passed over until its time has come;
 * - not claimed: while our own claim is younger than 30 s, as all workers come back to life together.
 */
async function countAhead(
  em: Em,
  earlier: string,
  { workspaceId, channelId, postId, postChannelId, dueAt: at }: LatePost,
  now: Date,
): Promise<number> {
  const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1000);
  const [row] = await ask<{ ahead: number }>(
    em,
    `select count(*)::int as ahead from (select
     from ${earlier}
     where pc.id <> $3 and p.status in ('scheduled', 'publishing')
       and case pc.status
         when 'scheduled' then case p.status
           when 'publishing' then p.updated_at > $6
           else exists (select 1 from posts where id = $5 and workspace_id = $2 and updated_at > $7)
           end
         when 'publishing' then pc.tried_at > clock_timestamp() - interval '2 minutes'
         else pc.retry_at > $6 and (pc.error_code = 'rate_limited' or pc.retry_at <= $8) end
     limit ${mostCounted}) earlier`,
    [channelId, workspaceId, postChannelId, at, postId, ago(120), ago(30), now],
  );
  return row?.ahead ?? 0;
}
