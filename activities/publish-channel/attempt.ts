import { activityInfo } from '@temporalio/activity';
import { sql } from 'kysely';
import { isUnderWay } from '../../db/channel-status.ts';
import { readEntries, type LedgerEntry } from '../../db/ledger/entries.ts';
import { addEntries, asReady, SupersededError } from '../../db/ledger/intents.ts';
import type { Em } from '../../db/orm.ts';
import { dueAt, isOpenPost } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import { markDatabaseOlder, restoredDatabase } from '../../db/restore-counter.ts';
import { uploadsPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Allowance } from '../../networks/content-rules.ts';
import { NetworkError, type Connection, type Network } from '../../networks/network.ts';
import { isAtSandbox } from '../../services/channels/oauth-context.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';

export type PublishAttempt = {
  readonly deps: ActivityDeps;
  readonly job: PublishJob;
  readonly network: Network;
  readonly connection: Connection;
  /** For the next attempt, in case this database loses what this one stored. */
  readonly begun: Begun;
  readonly intent: ReturnType<typeof createIntent>;
  readonly uploads: ReturnType<typeof keepUploads>;
  readonly spending: ReturnType<typeof createSpending>;
  /** Parts that this attempt found visible on the network, by ledger id, with the network's warning. */
  readonly seen: Map<string, string | undefined>;
};

/**
 * Heartbeat of a channel's attempts: the ledger entry that they stored before they sent something. An attempt that ends
 * within 5 s records none.
 */
export type Begun = { entry: string | undefined };

/** @throws Error if the database lacks the entry of an earlier attempt, so that this one would send the post again. */
export async function readBegun(
  { orm }: ActivityDeps,
  { workspaceId, postId, postChannelId }: PublishJob,
): Promise<Begun> {
  const { entry } = (activityInfo().heartbeatDetails ?? {}) as { readonly entry?: unknown };
  if (typeof entry !== 'string') {
    return { entry: undefined };
  }

  const em = orm.em.fork();
  const [lost] = await query(
    em,
    sql`select from posts p
      join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
      where pc.id = ${postChannelId} and pc.workspace_id = ${workspaceId}
        and (${isUnderWay} or (${isOpenPost('p')} and ${dueAt('p')} <= now()))
        and not exists (select from post_parts a where a.id = ${entry} and a.workspace_id = ${workspaceId})`,
  );
  if (lost) {
    await markDatabaseOlder(em);
    throw new Error(`An attempt has begun to send the post ${postId}. ${restoredDatabase}`);
  }

  return { entry };
}

export const readJobEntries = (
  deps: ActivityDeps,
  job: PublishJob,
  em: Em = deps.orm.em.fork(),
): Promise<LedgerEntry[]> => readEntries(em, job, job.run, job);

/** In milliseconds (docs/internals/publishing.md, The attempt). */
export const writtenWithinMs = 10_000;

/**
 * Age of the intent to send, by the clock that advanced more: the monotonic one stops while a machine is suspended, the
 * wall clock can be set.
 */
export function createIntent(
  { now }: Pick<ActivityDeps, 'now'>,
  monotonicNowMs: () => number = () => performance.now(),
) {
  const read = () => [monotonicNowMs(), now().getTime()] as const;
  let begun: ReturnType<typeof read> | null = null;
  return {
    /** Call before the statement that commits the intent. @returns whether it is the attempt's first. */
    begin: () => {
      const isFirst = begun === null;
      begun = read();
      return isFirst;
    },
    isFresh: () => {
      const [monotonicMs, wallMs] = read();
      return (
        begun !== null && Math.max(monotonicMs - begun[0], wallMs - begun[1]) <= writtenWithinMs
      );
    },
  };
}

/**
 * Stores the state of unfinished uploads in the ledger, so that the next attempt resumes them. Sealed, because an
 * upload's URL is enough to write into it. The first saved state inserts a thread's entries, since the intent that would
 * do it comes after the uploads.
 */
export function keepUploads(deps: ActivityDeps, job: PublishJob) {
  const fresh = new Map<string, { readonly uploads: Json; readonly sealed: string | null }>();
  let remaining: readonly LedgerEntry[] = [];
  let isWritten = false;
  const kept: Pick<Connection, 'uploadsOf' | 'saveUploads'> = {
    uploadsOf: (part) => {
      const known = fresh.get(part.key)?.uploads;
      const sealed = 'sealedUploads' in part ? (part as LedgerEntry).sealedUploads : null;
      return known !== undefined || sealed === null
        ? (known ?? null)
        : (JSON.parse(deps.sealer.open(sealed, uploadsPurpose(part.key))) as Json);
    },
    saveUploads: async ({ key }, uploads) => {
      const em = deps.orm.em.fork();
      if (!isWritten && remaining.some(({ state }) => state === 'new')) {
        if (!(await addEntries(em, job, remaining, deps.now()))) {
          throw new SupersededError('Another attempt is uploading the files of this channel.');
        }

        isWritten = true;
      }

      const sealed =
        uploads === null ? null : deps.sealer.seal(JSON.stringify(uploads), uploadsPurpose(key));
      const stored = await query(
        em,
        sql`update post_parts set sealed_uploads = ${sealed}, updated_at = ${deps.now()}
          where post_channel_id = ${job.postChannelId} and workspace_id = ${job.workspaceId} and key = ${key}
            and state in ('ready', 'refused', 'doubted')
          returning id`,
      );
      if (stored.length !== 1) {
        throw new SupersededError('Another attempt is sending to this channel.');
      }

      fresh.set(key, { uploads, sealed });
    },
  };
  return {
    kept,
    /** Sets the parts that are not sent yet. Call before the files of the next part are uploaded. */
    begin: (entries: readonly LedgerEntry[]): void => {
      remaining = entries;
    },
    /** Returns the current state of an entry: saving an upload also inserts new entries into the ledger. */
    current: (entry: LedgerEntry): LedgerEntry => {
      const { sealed: sealedUploads } = fresh.get(entry.key) ?? { sealed: entry.sealedUploads };
      return { ...(isWritten ? asReady(entry) : entry), sealedUploads };
    },
  };
}

/** The sandbox is free and has no shared limits. */
const allowanceOf = (
  deps: ActivityDeps,
  { platform, baseUrl }: PublishJob,
): Allowance | undefined =>
  isAtSandbox(deps, baseUrl) ? undefined : deps.networks[platform]?.allowance;

/**
 * Spending of the workspace's allowance on a network by one attempt. A post may exceed the rest, because a thread must
 * not stop in the middle. A started post continues up to twice the allowance, which bounds threads that are extended
 * again and again.
 */
export function createSpending(
  deps: ActivityDeps,
  job: PublishJob,
  { uploadsOf }: Pick<Connection, 'uploadsOf'>,
) {
  const allowance = allowanceOf(deps, job);
  const unspent = new Map<string, LedgerEntry>();
  let takenAt: Date | null = null;
  const costOf = (entries: readonly LedgerEntry[]): number =>
    entries.reduce(
      (sum, entry) => sum + (allowance?.cost(entry, uploadsOf(entry) !== null) ?? 0),
      0,
    );
  return {
    /** Takes the cost of the parts, once per attempt, before anything is sent or uploaded. @throws NetworkError `paced` */
    take: async (remaining: readonly LedgerEntry[], hasBegun: boolean): Promise<void> => {
      if (!allowance || takenAt !== null) {
        return;
      }

      const now = deps.now();
      const cost = costOf(remaining);
      const most = allowance.perDay * (hasBegun ? 2 : 1);
      // A resumed upload costs nothing more.
      if (cost > 0 && !(await takeFrom(deps, job, { now, most, cost }))) {
        const message = usedUpMessage(job, allowance);
        throw new NetworkError('paced', message, { accepted: 'no', retryAtMs: nextDayMs(now) });
      }

      takenAt = now;
      remaining.forEach((entry) => unspent.set(entry.key, entry));
    },
    spend: (step: readonly LedgerEntry[]): void => step.forEach(({ key }) => unspent.delete(key)),
    /** Undoes `spend` for parts that the network refused. */
    regain: (step: readonly LedgerEntry[]): void => {
      if (takenAt !== null) {
        step.forEach((entry) => unspent.set(entry.key, entry));
      }
    },
    giveBack: async (): Promise<void> => {
      const cost = costOf([...unspent.values()]);
      if (takenAt !== null && cost > 0) {
        await query(
          deps.orm.em.fork(),
          sql`update network_use set used = greatest(0, used - ${cost}::int)
            where workspace_id = ${job.workspaceId} and platform = ${job.platform} and day = ${dayOf(takenAt)}::date`,
        );
      }
    },
  };
}

/** One statement, so that concurrent attempts cannot overspend. @returns whether it was taken. */
async function takeFrom(
  { orm }: ActivityDeps,
  { workspaceId, platform }: PublishJob,
  { now, most, cost }: { readonly now: Date; readonly most: number; readonly cost: number },
): Promise<boolean> {
  const rows = await query(
    orm.em.fork(),
    sql`insert into network_use as known (workspace_id, platform, day, used)
      values (${workspaceId}, ${platform}, ${dayOf(now)}::date, ${cost}::int)
      on conflict (workspace_id, platform, day) do update set used = known.used + excluded.used
        where known.used < ${most}::int
      returning used`,
  );
  return rows.length === 1;
}

/** The wait if the day's allowance is used up: a late post's turn would be checked again every 2 s until midnight. */
export async function usedUp(deps: ActivityDeps, job: PublishJob) {
  const allowance = allowanceOf(deps, job);
  if (!allowance) {
    return null;
  }

  const now = deps.now();
  const rows = await query(
    deps.orm.em.fork(),
    sql`select from network_use where workspace_id = ${job.workspaceId} and platform = ${job.platform}
      and day = ${dayOf(now)}::date and used >= ${allowance.perDay}::int`,
  );
  return rows.length === 0
    ? null
    : { atMs: nextDayMs(now), message: usedUpMessage(job, allowance) };
}

const usedUpMessage = ({ platform }: PublishJob, { perDay, unit, setting }: Allowance): string =>
  `This workspace has used its allowance of ${perDay} ${unit} for this day (UTC) on the network "${platform}". The operator sets it with ${setting}.`;

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

const nextDayMs = (now: Date): number =>
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
