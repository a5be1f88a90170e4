import { sql } from 'kysely';
import { isOpenChannel, retryingValues } from '../../db/channel-status.ts';
import type { Em } from '../../db/orm.ts';
import { dueAt, isOpenPost } from '../../db/post-status.ts';
import { query, queryPlanned } from '../../db/query.ts';
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
import { isPublishWindowOver, publishWindowEndMs, type PublishJob } from './job.ts';

/** Reason to delay the attempt. Not counted as an attempt: no request was sent. */
type PacingWait = {
  readonly atMs: number;
  readonly code: 'rate_limited' | 'paced' | 'network_unavailable';
  readonly message: string;
};

/**
 * Checks whether an attempt may begin: no rate limit may be in force, and it needs a slot at its server. No wait applies
 * once the network has all parts, after the publish window, or if there is nothing to ask the network.
 *
 * @returns null if it may. A post on time needs no statement.
 */
export async function checkPacing(
  deps: ActivityDeps,
  job: PublishJob,
  busy: BusyServer | null,
): Promise<PacingWait | null> {
  if (job.isAccepted || isPublishWindowOver(deps, job) || (job.isCancelled && !job.isInDoubt)) {
    return null;
  }

  const wait = await waitOf(deps, job, busy);
  return wait && job.isInDoubt
    ? { ...wait, atMs: Math.min(wait.atMs, publishWindowEndMs(job)) }
    : wait;
}

/**
 * An overdue post also needs its turn on the channel, and its workspace some of the day's allowance. An attempt that
 * continues after a crash skips both. So does one that asks for a post in doubt, until it sends it again.
 */
async function waitOf(
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

  if (lateMs <= lateAfterMs || job.status === 'publishing' || job.isInDoubt) {
    return null;
  }

  const used = job.hasBegun ? null : await usedUp(deps, job);
  if (used) {
    return { ...used, code: 'paced' };
  }

  return paceOverdue(deps, job);
}

/** For a post that was in doubt and is sent again. @throws NetworkError `paced` if it is late and not its turn. */
export async function takeTurnAgain(deps: ActivityDeps, job: PublishJob): Promise<void> {
  const isLate = deps.now().getTime() - job.dueAt.getTime() > lateAfterMs;
  const wait = isLate ? await paceOverdue(deps, job) : null;
  if (wait) {
    throw new NetworkError(wait.code, wait.message, { accepted: 'no', retryAtMs: wait.atMs });
  }
}

export async function recordWait(
  deps: ActivityDeps,
  job: PublishJob,
  { atMs, code, message }: PacingWait,
): Promise<boolean> {
  const { workspaceId, postId, postChannelId, revision, isCancelled, isInDoubt } = job;
  const error = waitText(message, code, atMs, isInDoubt);
  // Locks the post before its channel: a statement that waited for the channel would read the post as it was before.
  const waits = await query(
    deps.orm.em.fork(),
    sql`with post as materialized (
        select id from posts
        where id = ${postId} and workspace_id = ${workspaceId} and status = ${isCancelled ? 'draft' : 'publishing'}
          and revision = ${revision} for share)
      update post_channels pc set ${retryingValues({ code, error }, new Date(atMs))} from post p
      where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId} and pc.post_id = p.id and ${isOpenChannel}
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
  const count = ahead < mostCounted ? `${ahead}` : `${mostCounted} or more`;
  const before =
    ahead === 0 ? '' : `, and ${count} of them ${ahead === 1 ? 'goes' : 'go'} before this one`;
  return `Overdue posts of a channel go out one after the other, ${lateSpacingMs / 1000} s apart${before}.`;
}

export type OverduePost = Pick<
  PublishJob,
  'workspaceId' | 'channelId' | 'postId' | 'postChannelId' | 'dueAt'
>;

/**
 * Overdue posts of a channel are sent in the order of their times, `lateSpacingMs` apart. Nothing is reserved: each
 * attempt counts the posts before it under the channel's lock, so a cancelled or abandoned post blocks the others only
 * briefly.
 *
 * @returns null if the post is sent now.
 */
export async function paceOverdue(
  deps: Pick<ActivityDeps, 'orm' | 'now'>,
  post: OverduePost,
): Promise<PacingWait | null> {
  const { channelId, workspaceId } = post;
  return deps.orm.em.fork().transactional(async (em): Promise<PacingWait | null> => {
    const [last] = await query(
      em,
      sql<{ since_ms: number | null }>`
        select (extract(epoch from clock_timestamp() - last_late_send_at) * 1000)::float8 as since_ms
        from channels where id = ${channelId} and workspace_id = ${workspaceId} for no key update`,
    );
    const ahead = await countAhead(em, post, deps.now());
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
 * Counts the earlier posts of the channel that are about to be sent. A post without a known next attempt counts for 2
 * min only, so that a lost workflow does not block the others: by then the sweep has found it, or the attempt of a dead
 * worker has restarted. The 2 min start:
 *
 * - claimed, attempt not begun: at the claim;
 * - being sent: when its attempt began;
 * - waiting for its turn or for the end of a limit: when it should have checked again. A post that waits after a
 *   failure of its own, or until midnight for its workspace's allowance, is skipped until that time;
 * - not claimed: counts while our own claim is younger than 30 s, because all workers restart together.
 *
 * Planned for its values: the channel may have thousands of posts due in months, or the workspace thousands of late ones.
 */
async function countAhead(
  em: Em,
  { channelId, workspaceId, postId, postChannelId, dueAt: at }: OverduePost,
  now: Date,
): Promise<number> {
  const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1000);
  const [row] = await queryPlanned(
    em,
    sql<{ ahead: number }>`
      select count(*)::int as ahead from (select
      from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and ${isOpenChannel}
        and p.workspace_id = ${workspaceId} and ${isOpenPost('p')} and pc.id <> ${postChannelId}
        and (${dueAt('p')}, p.id) < (${at}::timestamptz, ${postId}::uuid)
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
