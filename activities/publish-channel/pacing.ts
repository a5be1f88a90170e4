import { sql, type RawBuilder } from 'kysely';
import { isOpenChannel, retryingValues } from '../../db/channel-status.ts';
import type { Em } from '../../db/orm.ts';
import { dueAt, isOpenPost } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import {
  failureAdvice,
  inDoubtText,
  type ChannelErrorCode,
  type NetworkLimit,
} from '../../domain/channel-error.ts';
import {
  lateAfterMs,
  lateSpacingMs,
  mostCounted,
  serverWaitMs,
  waitForTurnMs,
  type BusyServer,
} from '../../domain/pacing.ts';
import { NetworkError } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { usedUp } from './attempt.ts';
import type { PublishJob } from './job.ts';

/** Reason to delay the attempt. Not counted as an attempt: no request was sent. */
export type PacingWait = {
  readonly atMs: number;
  readonly code: 'rate_limited' | 'paced' | 'network_unavailable';
  readonly message: string;
};

/**
 * Checks whether an attempt may begin: no rate limit may be in force, and it needs a slot at its server. An overdue
 * post also needs its turn on the channel, and its workspace must have some of the day's allowance left. An attempt
 * that continues after a crash skips both. So does one that asks for a post in doubt, until it sends it again.
 *
 * @returns null if it may. A post on time needs no statement.
 */
export async function checkPacing(
  deps: ActivityDeps,
  job: PublishJob,
  busy: BusyServer | null,
): Promise<PacingWait | null> {
  const nowMs = deps.now().getTime();
  if (job.limit && job.limit.untilMs > nowMs) {
    return { atMs: job.limit.untilMs, code: 'rate_limited', message: limitMessage(job.limit) };
  }

  const lateMs = nowMs - job.dueAt.getTime();
  if (busy) {
    return waitForServer(job, busy, lateMs, nowMs);
  }

  const isLate = lateMs > lateAfterMs;
  if (!isLate || job.status === 'publishing' || job.isInDoubt) {
    return null;
  }

  const used = job.hasBegun ? null : await usedUp(deps, job);
  if (used) {
    return { ...used, code: 'paced' };
  }

  return paceOverdue(deps, job);
}

/**
 * Call before a post is sent again that was in doubt and is not on the network.
 *
 * @throws NetworkError `paced` if it is overdue and not its turn on the channel.
 */
export async function takeTurnAgain(deps: ActivityDeps, job: PublishJob): Promise<void> {
  const isLate = deps.now().getTime() - job.dueAt.getTime() > lateAfterMs;
  const wait = isLate ? await paceOverdue(deps, job) : null;
  if (wait) {
    throw new NetworkError(wait.code, wait.message, { accepted: 'no', retryAtMs: wait.atMs });
  }
}

/**
 * Stores why a channel waits and until when, only if the post is unchanged since it was read.
 *
 * @returns false if the post has changed, so that there is nothing to retry.
 */
export async function recordWait(
  deps: ActivityDeps,
  job: PublishJob,
  { atMs, code, message }: PacingWait,
): Promise<boolean> {
  const error = waitText(message, code, atMs, job.isInDoubt);
  const waits = await query(
    deps.orm.em.fork(),
    sql`with ${lockedPost(job)}
      update post_channels pc set ${retryingValues({ code, error }, new Date(atMs))} from post p
      where pc.id = ${job.postChannelId} and pc.workspace_id = ${job.workspaceId} and pc.post_id = p.id
        and ${isOpenChannel}
      returning pc.id`,
  );
  return waits.length === 1;
}

/** Why a channel waits until a time, for the post's owner. */
export const waitText = (
  message: string,
  code: ChannelErrorCode,
  atMs: number,
  isInDoubt: boolean,
): string =>
  isInDoubt ? inDoubtText(message, code, atMs) : `${message} ${failureAdvice(code, atMs)}`;

/**
 * SQL, part `post` of a statement: the post if it is unchanged since the job was read, locked before its channel.
 * Without the lock, a statement that waits for the channel would combine the new channel with the old post, which may
 * have been cancelled, edited and scheduled again meanwhile.
 */
const lockedPost = ({ workspaceId, postId, revision, isCancelled }: PublishJob) =>
  sql`post as materialized (
    select id from posts
    where id = ${postId} and workspace_id = ${workspaceId} and status = ${isCancelled ? 'draft' : 'publishing'}
      and revision = ${revision} for share)`;

/** Describes the limit for the user. */
export function limitMessage({ scope, untilMs }: NetworkLimit): string {
  const whose = {
    channel: 'The network limits how often this account may post',
    server: "The network's server limits the requests of this service over all accounts",
    network: 'The network limits the requests of this service over all accounts',
  }[scope];
  return `${whose}, and the limit is used up until ${new Date(untilMs).toISOString()}.`;
}

function waitForServer(
  { baseUrl }: PublishJob,
  busy: BusyServer,
  lateMs: number,
  nowMs: number,
): PacingWait {
  const atMs = nowMs + serverWaitMs(busy, lateMs, Math.random());
  if (busy.isPaused) {
    const message = `${baseUrl} did not answer the last ${busy.failures} attempts, so only one post at a time is sent to test it. This does not count as an attempt.`;
    return { atMs, code: 'network_unavailable', message };
  }

  const message = `The limit of concurrent posts to ${baseUrl}, or of this workspace to the network, is reached. This does not count as an attempt.`;
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

export type OverduePost = Pick<
  PublishJob,
  'workspaceId' | 'channelId' | 'postId' | 'postChannelId' | 'dueAt'
>;

/**
 * Decides whether an overdue post is sent now. Overdue posts of a channel are sent in the order of their times,
 * `lateSpacingMs` apart. Nothing is reserved: each attempt counts the posts before it under the channel's lock, and the
 * first one always counts none. So a cancelled or abandoned post blocks the others only briefly.
 *
 * @returns null if it is sent now.
 */
export async function paceOverdue(
  deps: Pick<ActivityDeps, 'orm' | 'now'>,
  post: OverduePost,
): Promise<PacingWait | null> {
  const { channelId, workspaceId } = post;
  return deps.orm.em.fork().transactional(async (em): Promise<PacingWait | null> => {
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
    const waitMs = waitForTurnMs({ ahead, sinceLastMs: last?.since_ms ?? null });
    if (waitMs > 0) {
      return { atMs: deps.now().getTime() + waitMs, code: 'paced', message: turnMessage(ahead) };
    }

    await query(
      em,
      sql`update channels set last_late_send_at = clock_timestamp()
        where id = ${channelId} and workspace_id = ${workspaceId}`,
    );
    return null;
  });
}

/**
 * Up to this many open posts, all posts of a channel are read. A channel with more may have tens of thousands that are
 * due in months; then the workspace's earlier posts are read in order of time, and filtered by channel.
 */
const fewOpen = 500;

/** SQL: open posts of the channel as `pc`, joined one by one with their rows of `posts` as `p`. */
const earlierOfChannel = ({ channelId, workspaceId, dueAt: at, postId }: OverduePost) => sql`
  (select id, post_id, status, error_code, tried_at, retry_at
   from post_channels pc where channel_id = ${channelId} and workspace_id = ${workspaceId} and ${isOpenChannel}
   limit ${sql.lit(fewOpen)}) pc
  cross join lateral (
    select * from posts where id = pc.post_id and workspace_id = ${workspaceId}
      and (${dueAt()}, id) < (${at}::timestamptz, ${postId}::uuid)
    limit 1) p`;

/** SQL: the same by time, along the index `posts_due_by_workspace`, until enough are counted. */
const earlierByTime = ({ channelId, workspaceId, dueAt: at, postId }: OverduePost) => sql`
  (select * from posts where workspace_id = ${workspaceId} and ${isOpenPost()}
     and (${dueAt()}, id) < (${at}::timestamptz, ${postId}::uuid) order by ${dueAt()}, id) p
  cross join lateral (
    select id, status, error_code, tried_at, retry_at
    from post_channels pc
    where post_id = p.id and channel_id = ${channelId} and workspace_id = ${workspaceId} and ${isOpenChannel} limit 1) pc`;

/**
 * Counts the earlier posts of the channel that are about to be sent. A post without a known next attempt counts for 2
 * min only, so that a lost workflow does not block the others: by then the sweep has found it, or the attempt of a dead
 * worker has restarted. The 2 min start:
 *
 * - claimed, attempt not begun: at the claim;
 * - being sent: when its attempt began;
 * - waiting for its turn or for the end of a limit: when it should have checked again. A post that waits after a
 *   failure of its own, or until midnight for its workspace's allowance, is skipped until that time;
 * - not claimed: counts while our own claim is younger than 30 s, because all workers restart together.
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
      where pc.id <> ${postChannelId} and ${isOpenPost('p')}
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
