import { sql } from 'kysely';
import { readEntries, type LedgerEntry } from '../../db/ledger/entries.ts';
import { addEntries, asReady, SupersededError } from '../../db/ledger/intents.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { uploadsPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Allowance } from '../../networks/content-rules.ts';
import { NetworkError, type Connection, type Network } from '../../networks/network.ts';
import { isAtSandbox } from '../../services/channels/oauth-context.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Begun } from './begun.ts';
import type { PublishJob } from './job.ts';

/** Context of an attempt. */
export type PublishAttempt = {
  readonly deps: ActivityDeps;
  readonly job: PublishJob;
  readonly network: Network;
  readonly connection: Connection;
  /** For the next attempt, in case this database loses what this one stored. */
  readonly begun: Begun;
  readonly intent: Intent;
  readonly uploads: KeptUploads;
  readonly spending: Spending;
  /** Parts that this attempt found visible on the network, by ledger id, with the network's warning. */
  readonly seen: Map<string, string | undefined>;
};

/** Reads the current ledger of the channel. */
export const readJobEntries = (
  deps: ActivityDeps,
  job: PublishJob,
  em: Em = deps.orm.em.fork(),
): Promise<LedgerEntry[]> => readEntries(em, job, job.run, job);

/**
 * In milliseconds. A request that creates a post is written within this time after its intent, or not at all. With its
 * timeout (`networks/http.ts`: 30 s, or 200 s with a file) it ends before `appearsWithinMs`, after which another attempt
 * may send again.
 */
export const writtenWithinMs = 10_000;

/** Age of the intent to send. A suspended attempt can resume long after another took over. */
type Intent = {
  /** Call before the statement that commits the intent. @returns whether it is the attempt's first. */
  readonly begin: () => boolean;
  readonly isFresh: () => boolean;
};

/**
 * Uses the larger elapsed time of two clocks: the monotonic one stops while a machine is suspended, the wall clock can
 * be set.
 */
export function createIntent(
  { now }: Pick<ActivityDeps, 'now'>,
  monotonicNowMs: () => number = () => performance.now(),
): Intent {
  const read = () => [monotonicNowMs(), now().getTime()] as const;
  let begun: ReturnType<typeof read> | null = null;
  return {
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

/** State of unfinished uploads, so that the next attempt resumes them. */
type KeptUploads = Pick<Connection, 'uploadsOf' | 'saveUploads'> & {
  /** Sets the parts that are not sent yet. Call before the files of the next part are uploaded. */
  readonly begin: (remaining: readonly LedgerEntry[]) => void;
  /** Returns the current state of an entry: saving an upload also inserts new entries into the ledger. */
  readonly current: (entry: LedgerEntry) => LedgerEntry;
};

/**
 * Stores upload state in the ledger. Sealed, because an upload's URL is enough to write into it.
 *
 * The first intent to send inserts a thread's entries, but it comes after the uploads. So the first saved state inserts
 * them.
 */
export function keepUploads(deps: ActivityDeps, job: PublishJob): KeptUploads {
  const fresh = new Map<string, { readonly uploads: Json; readonly sealed: string | null }>();
  let remaining: readonly LedgerEntry[] = [];
  let isWritten = false;
  const seal = (uploads: Json, key: string): string =>
    deps.sealer.seal(JSON.stringify(uploads), uploadsPurpose(key));
  return {
    begin: (entries) => {
      remaining = entries;
    },
    current: (entry) => {
      const { sealed: sealedUploads } = fresh.get(entry.key) ?? { sealed: entry.sealedUploads };
      return { ...(isWritten ? asReady(entry) : entry), sealedUploads };
    },
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

      const sealed = uploads === null ? null : seal(uploads, key);
      const kept = await query(
        em,
        sql`update post_parts set sealed_uploads = ${sealed}, updated_at = ${deps.now()}
          where post_channel_id = ${job.postChannelId} and workspace_id = ${job.workspaceId} and key = ${key}
            and state in ('ready', 'refused', 'doubted')
          returning id`,
      );
      if (kept.length !== 1) {
        throw new SupersededError('Another attempt is sending to this channel.');
      }

      fresh.set(key, { uploads, sealed });
    },
  };
}

/** Spending of the workspace's allowance on a network by one attempt. */
type Spending = {
  /**
   * Takes the cost of the parts, once per attempt, before anything is sent or uploaded.
   *
   * @throws NetworkError `paced` if the day's allowance is used up.
   */
  readonly take: (remaining: readonly LedgerEntry[], hasBegun: boolean) => Promise<void>;
  /** Marks the parts as spent, when their request is sent. */
  readonly spend: (step: readonly LedgerEntry[]) => void;
  /** Undoes `spend` for parts that the network refused. */
  readonly regain: (step: readonly LedgerEntry[]) => void;
  /** Returns the unspent rest to the allowance. */
  readonly giveBack: () => Promise<void>;
};

type OfPost = Pick<PublishJob, 'workspaceId' | 'platform' | 'baseUrl'>;

/** The sandbox is free and has no shared limits. */
const allowanceOf = (deps: ActivityDeps, { platform, baseUrl }: OfPost): Allowance | undefined =>
  isAtSandbox(deps, baseUrl) ? undefined : deps.networks[platform]?.allowance;

/**
 * A post may exceed the remaining allowance, because a thread must not stop in the middle. A started post continues up
 * to twice the allowance, which bounds threads that are extended again and again.
 */
export function createSpending(
  deps: ActivityDeps,
  job: PublishJob,
  { uploadsOf }: Pick<Connection, 'uploadsOf'>,
): Spending {
  const allowance = allowanceOf(deps, job);
  const unspent = new Map<string, LedgerEntry>();
  let takenAt: Date | null = null;
  const costOf = (entries: Iterable<LedgerEntry>): number =>
    [...entries].reduce(
      (sum, entry) => sum + (allowance?.cost(entry, uploadsOf(entry) !== null) ?? 0),
      0,
    );
  return {
    take: async (remaining, hasBegun) => {
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
    spend: (step) => step.forEach(({ key }) => unspent.delete(key)),
    regain: (step) => {
      if (takenAt !== null) {
        step.forEach((entry) => unspent.set(entry.key, entry));
      }
    },
    giveBack: async () => {
      const cost = costOf(unspent.values());
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
  { workspaceId, platform }: OfPost,
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

/**
 * Returns the wait if the day's allowance is used up. Checked before a late post's turn, which would be checked again
 * every 2 s until midnight.
 */
export async function usedUp(
  deps: ActivityDeps,
  job: OfPost,
): Promise<{ readonly atMs: number; readonly message: string } | null> {
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

const usedUpMessage = ({ platform }: OfPost, { perDay, unit, setting }: Allowance): string =>
  `This workspace has used its allowance of ${perDay} ${unit} for this day (UTC) on the network "${platform}". The operator sets it with ${setting}.`;

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

const nextDayMs = (now: Date): number =>
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
