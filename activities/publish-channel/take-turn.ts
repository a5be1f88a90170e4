import { mostCounted, waitForTurnMs, type Queue } from '../../domain/late-posts.ts';
import type { Em } from '../../db/orm.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishTarget } from './target.ts';

export type Turn =
  | { readonly kind: 'go' }
  | { readonly kind: 'wait'; readonly waitMs: number; readonly ahead: number };

/**
 * Whether a late post goes now. The late posts of a channel go one after the other in order of their times, with a
 * distance. Nothing is reserved: whoever asks under the channel's lock counts who is before it, and there is always
 * one that has nobody before it. So a post that is cancelled, or whose turn never comes, holds up nobody for long.
 */
export async function takeTurn(deps: ActivityDeps, target: PublishTarget): Promise<Turn> {
  return deps.orm.em.fork().transactional(async (em): Promise<Turn> => {
    const channel = [target.channelId, target.workspaceId];
    const [last] = await em.execute<{ since_ms: number | null }[]>(
      `select (extract(epoch from clock_timestamp() - last_late_send_at) * 1000)::float8 as since_ms
       from channels where id = ? and workspace_id = ? for no key update`,
      channel,
    );
    const ahead = await countAhead(em, target, deps.now());
    const queue: Queue = { ahead, sinceLastMs: last?.since_ms ?? null };
    const waitMs = waitForTurnMs(queue);
    if (waitMs > 0) {
      return { kind: 'wait', waitMs, ahead };
    }

    await em.execute(
      'update channels set last_late_send_at = clock_timestamp() where id = ? and workspace_id = ?',
      channel,
    );
    return { kind: 'go' };
  });
}

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
async function countAhead(em: Em, target: PublishTarget, now: Date): Promise<number> {
  const { workspaceId, channelId, postId, postChannelId, dueAt } = target;
  const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1000);
  const [row] = await em.execute<{ ahead: number }[]>(
    `select count(*)::int as ahead from (select
     from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
     where pc.channel_id = ? and pc.workspace_id = ? and pc.id <> ?
       and pc.status in ('scheduled', 'publishing', 'retrying') and p.status in ('scheduled', 'publishing')
       and (coalesce(p.retried_at, p.scheduled_at), p.id) < (?::timestamptz, ?::uuid)
       and case pc.status
         when 'scheduled' then case p.status
           when 'publishing' then p.updated_at > ?
           else exists (
             select 1 from posts own where own.id = ? and own.workspace_id = pc.workspace_id and own.updated_at > ?)
           end
         when 'publishing' then pc.tried_at > clock_timestamp() - interval '2 minutes'
         else pc.retry_at > ? and (pc.error_code = 'rate_limited' or pc.retry_at <= ?) end
     limit ${mostCounted}) earlier`,
    [
      channelId,
      workspaceId,
      postChannelId,
      dueAt,
      postId,
      ago(120),
      postId,
      ago(30),
      ago(120),
      now,
    ],
  );
  return row?.ahead ?? 0;
}
