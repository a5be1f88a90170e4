import { sql } from 'kysely';
import { isAtSandbox } from '../../accounts/oauth-context.ts';
import type { LedgerEntry } from '../../db/ledger/entries.ts';
import { query } from '../../db/query.ts';
import type { Allowance } from '../../networks/allowance.ts';
import { NetworkError, type Connection } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';

/** Spending of the workspace's allowance on a network by one attempt. */
export type Spending = {
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
