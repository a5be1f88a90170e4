import { sql, type RawBuilder } from 'kysely';
import { isOpenChannel, retrying } from '../../db/channel-status.ts';
import { dueAt } from '../../db/post-columns.ts';
import type { NetworkLimit } from '../../db/network-limits.ts';
import { query } from '../../db/query.ts';
import type { Em } from '../../db/orm.ts';
import { failureAdvice } from '../../domain/channel-error.ts';
import {
  type Queue,
  lateAfterMs,
  lateSpacingMs,
  mostCounted,
  waitForTurnMs,
} from '../../domain/pacing.ts';
import { serverWaitMs } from '../../domain/server-health.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';
import { giveSlotBack } from './server-slots.ts';
import { usedUp } from './spending.ts';
import { lockedPost, statusOf } from './start-attempt.ts';

/** Why a try does not begin now. It is no failure, and no try: nothing was asked of the network. */
export type Wait = {
  readonly atMs: number;
  readonly code: 'rate_limited' | 'paced' | 'network_unavailable';
  readonly message: string;
};

/**
 * Whether a try may begin: not while a rate limit lasts, nor without a slot at its server, and an overdue post only when
 * it is its turn and its workspace has something left of the day's allowance. A try that died in the middle had its
 * turn, and goes on.
 *
 * @returns null when it may. A post on time costs no statement.
 */
export async function checkPacing(deps: ActivityDeps, job: PublishJob): Promise<Wait | null> {
  const nowMs = deps.now().getTime();
  if (job.limit && job.limit.untilMs > nowMs) {
    return { atMs: job.limit.untilMs, code: 'rate_limited', message: limitMessage(job.limit) };
  }

  const lateMs = nowMs - job.dueAt.getTime();
  if (job.server.slot === null) {
    return waitForServer(job, lateMs, nowMs);
  }

  const isLate = lateMs > lateAfterMs;
  if (!isLate || job.status === 'publishing') {
    return null;
  }

  const used = job.hasBegun ? null : await usedUp(deps, job);
  if (used) {
    return { ...used, code: 'paced' };
  }

  const turn = await paceOverdue(deps, job);
  if (turn.kind === 'go') {
    return null;
  }

  return { atMs: nowMs + turn.waitMs, code: 'paced', message: turnMessage(turn.ahead) };
}

/**
 * Says why a channel waits and until when: like the start of a try, and for the same reasons, only while the post is what
 * was read. The slot at its server, if the try had one, is free again in any case.
 *
 * @returns false when the post has changed, so that nothing is to be tried again.
 */
export async function recordWait(
  deps: ActivityDeps,
  job: PublishJob,
  { atMs, code, message }: Wait,
): Promise<boolean> {
  const why = { code, error: `${message} ${failureAdvice(code, atMs)}` };
  const waits = await query(
    deps.orm.em.fork(),
    sql`with ${lockedPost(job, statusOf(job), job.revision)},
      slot as (${giveSlotBack(job, false)})
      update post_channels pc set ${retrying(why, new Date(atMs))} from post p
      where pc.id = ${job.postChannelId} and pc.workspace_id = ${job.workspaceId} and pc.post_id = p.id
        and ${isOpenChannel}
      returning pc.id`,
  );
  return waits.length === 1;
}

/** For the user: which limit it is. */
export function limitMessage({ scope, untilMs }: NetworkLimit): string {
  const whose = {
    channel: 'The network limits how often this account may post',
    server: "The network's server limits how often this service may ask it, over all accounts",
    network: 'The network limits how often this service may ask it, over all accounts',
  }[scope];
  return `${whose}, and the limit is used up until ${new Date(untilMs).toISOString()}.`;
}

function waitForServer({ server, baseUrl }: PublishJob, lateMs: number, nowMs: number): Wait {
  const atMs = nowMs + serverWaitMs(server, lateMs, Math.random());
  if (server.isPaused) {
    const message = `Nothing was sent: ${baseUrl} did not answer the last ${server.failures} tries of this service, so that for now only one post at a time asks whether it does again. This counts as no try.`;
    return { atMs, code: 'network_unavailable', message };
  }

  const message = `Nothing was sent: this service is sending as many posts to ${baseUrl}, or of this workspace to the network, as it allows at a time. This does not count as a try.`;
  return { atMs, code: 'paced', message };
}

function turnMessage(ahead: number): string {
  const distance = `Overdue posts of a channel go out one after the other, ${lateSpacingMs / 1000} s apart`;
  if (ahead === 0) {
    return `${distance}.`;
  }

  const count = ahead < mostCounted ? `${ahead}` : `${mostCounted} or more`;
  return `${distance}, and ${count} of them ${ahead === 1 ? 'goes' : 'go'} before this one.`;
}

type Turn =
  | { readonly kind: 'go' }
  | { readonly kind: 'wait'; readonly waitMs: number; readonly ahead: number };

/** An overdue post on one of its channels. */
export type OverduePost = Pick<
  PublishJob,
  'workspaceId' | 'channelId' | 'postId' | 'postChannelId' | 'dueAt'
>;

/**
 * Whether an overdue post goes now. Those of a channel go one after the other in order of their times, with a distance.
 * Nothing is reserved: under the channel's lock each try counts what is before it, and there is always one that has
 * nothing before it. So a post that is cancelled, or whose turn never comes, holds up nobody for long.
 */
export async function paceOverdue(
  deps: Pick<ActivityDeps, 'orm' | 'now'>,
  post: OverduePost,
): Promise<Turn> {
  const { channelId, workspaceId } = post;
  return deps.orm.em.fork().transactional(async (em): Promise<Turn> => {
    const [last] = await query(
      em,
      sql<{ since_ms: number | null; open: number }>`
        select (extract(epoch from clock_timestamp() - last_late_send_at) * 1000)::float8 as since_ms,
          (select count(*)::int from (
            select from post_channels pc
            where channel_id = ${channelId} and ${isOpenChannel} limit ${sql.lit(fewOpen + 1)}) few) as open
        from channels where id = ${channelId} and workspace_id = ${workspaceId} for no key update`,
    );
    const earlier = (last?.open ?? 0) > fewOpen ? earlierByTime(post) : earlierOfChannel(post);
    const ahead = await countAhead(em, earlier, post, deps.now());
    const queue: Queue = { ahead, sinceLastMs: last?.since_ms ?? null };
    const waitMs = waitForTurnMs(queue);
    if (waitMs > 0) {
      return { kind: 'wait', waitMs, ahead };
    }

    await query(
      em,
      sql`update channels set last_late_send_at = clock_timestamp()
        where id = ${channelId} and workspace_id = ${workspaceId}`,
    );
    return { kind: 'go' };
  });
}

/**
 * While a channel has no more open posts than this, all of them are looked at. One that has more may have tens of
 * thousands that are due in months: then those of its workspace with earlier times are, and whether each goes there.
 */
const fewOpen = 500;

/** Posts of the channel that are open, as `pc` with their rows of `posts` as `p`: what each has is read one by one. */
const earlierOfChannel = ({ channelId, workspaceId, dueAt: at, postId }: OverduePost) => sql`
  (select id, post_id, status, error_code, tried_at, retry_at
   from post_channels pc where channel_id = ${channelId} and workspace_id = ${workspaceId} and ${isOpenChannel}
   limit ${sql.lit(fewOpen)}) pc
  cross join lateral (
    select * from posts where id = pc.post_id and workspace_id = ${workspaceId}
      and (${dueAt()}, id) < (${at}::timestamptz, ${postId}::uuid)
    limit 1) p`;

/** The same in order of their times, down the index `posts_due_by_workspace`, until enough are counted. */
const earlierByTime = ({ channelId, workspaceId, dueAt: at, postId }: OverduePost) => sql`
  (select * from posts where workspace_id = ${workspaceId} and status in ('scheduled', 'publishing')
     and (${dueAt()}, id) < (${at}::timestamptz, ${postId}::uuid) order by ${dueAt()}, id) p
  cross join lateral (
    select id, status, error_code, tried_at, retry_at
    from post_channels pc
    where post_id = p.id and channel_id = ${channelId} and workspace_id = ${workspaceId} and ${isOpenChannel} limit 1) pc`;

/**
 * How many posts of the channel with earlier times are about to go out. One of which nobody knows when it will be
 * tried counts for 2 min only, so that a post whose workflow is gone does not stop the others: by then the sweep has
 * found it, and a dead worker's try has begun anew.
 *
 * - claimed, and its try has not begun: since the claim;
 * - being sent: since its try began;
 * - waiting for its turn or for the end of a limit: since it should have looked again. One that waits after a failure
 *   of its own, or until midnight for its workspace's allowance, is passed over until its time has come;
 * - not claimed: while our own claim is younger than 30 s, as all workers come back to life together.
 */
async function countAhead(
  em: Em,
  earlier: RawBuilder<unknown>,
  { workspaceId, postId, postChannelId }: OverduePost,
  now: Date,
): Promise<number> {
  const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1000);
  const [row] = await query(
    em,
    sql<{ ahead: number }>`
      select count(*)::int as ahead from (select
      from ${earlier}
      where pc.id <> ${postChannelId} and p.status in ('scheduled', 'publishing')
        and case pc.status
          when 'scheduled' then case p.status
            when 'publishing' then p.updated_at > ${ago(120)}
            else exists (select 1 from posts
              where id = ${postId} and workspace_id = ${workspaceId} and updated_at > ${ago(30)})
            end
          when 'publishing' then pc.tried_at > clock_timestamp() - interval '2 minutes'
          else pc.retry_at > ${ago(120)} and (pc.error_code = 'rate_limited' or pc.retry_at <= ${now}
            or (pc.error_code = 'paced' and pc.retry_at < ${ago(-600)})) end
      limit ${sql.lit(mostCounted)}) earlier`,
  );
  return row?.ahead ?? 0;
}
