import { sql } from 'kysely';
import { isAtSandbox } from '../../accounts/oauth-context.ts';
import type { Entry } from '../../db/ledger/entries.ts';
import { query } from '../../db/query.ts';
import type { Allowance } from '../../networks/allowance.ts';
import { NetworkError, type Connection } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';

/** How a try spends the allowance that its workspace has on its network. */
export type Spending = {
  /**
   * Takes what the parts cost, once per try and before anything of them is sent or uploaded.
   *
   * @throws NetworkError `paced` when the allowance of the day is used up.
   */
  readonly take: (remaining: readonly Entry[], hasBegun: boolean) => Promise<void>;
  /** The request for these parts leaves now. */
  readonly spend: (step: readonly Entry[]) => void;
  /** The network refused them. */
  readonly regain: (step: readonly Entry[]) => void;
  /** Gives back what was taken and not spent. */
  readonly giveBack: () => Promise<void>;
};

type OfPost = Pick<PublishJob, 'workspaceId' | 'platform' | 'baseUrl'>;

/** The sandbox costs nothing and has no limits that others share. */
const allowanceOf = (deps: ActivityDeps, { platform, baseUrl }: OfPost): Allowance | undefined =>
  isAtSandbox(deps, baseUrl) ? undefined : deps.networks[platform]?.allowance;

/**
 * A post whose parts cost more than is left goes out whole: a thread must not stop in the middle. What has begun goes on
 * up to twice the allowance, so that threads which are made longer again and again have a bound too.
 */
export function createSpending(
  deps: ActivityDeps,
  job: PublishJob,
  { uploadsOf }: Pick<Connection, 'uploadsOf'>,
): Spending {
  const allowance = allowanceOf(deps, job);
  const unspent = new Map<string, Entry>();
  let takenAt: Date | null = null;
  const costOf = (entries: Iterable<Entry>): number =>
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
      // An upload that goes on costs nothing more.
      if (cost > 0 && !(await takeFrom(deps, job, { now, most, cost }))) {
        const message = usedUpMessage(job, allowance);
        throw new NetworkError('paced', message, { taken: 'no', retryAtMs: nextDayMs(now) });
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

/** One statement, so that tries that begin together take no more than there is. @returns whether it was taken. */
async function takeFrom(
  { orm }: ActivityDeps,
  { workspaceId, platform }: OfPost,
  { now, most, cost }: { readonly now: Date; readonly most: number; readonly cost: number },
): Promise<boolean> {
  const taken = await query(
    orm.em.fork(),
    sql`insert into network_use as known (workspace_id, platform, day, used)
      values (${workspaceId}, ${platform}, ${dayOf(now)}::date, ${cost}::int)
      on conflict (workspace_id, platform, day) do update set used = known.used + excluded.used
        where known.used < ${most}::int
      returning used`,
  );
  return taken.length === 1;
}

/**
 * Whether the allowance of the day is used up: a late post that looked for its turn first would ask every 2 s until
 * midnight.
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
  `This workspace has used its allowance of ${perDay} ${unit} for this day (UTC) on the network "${platform}". Whoever runs this service sets it by ${setting}.`;

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

const nextDayMs = (now: Date): number =>
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
