import { sql, type RawBuilder } from 'kysely';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { recordAudit, type Actor } from '../../db/audit.ts';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { queryTime } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
import type { DeliveryToSync } from '../../domain/to-sync.ts';
import { createKeyedSemaphore } from '../../runtime/concurrency.ts';
import type { ServiceDeps } from '../deps.ts';
import { loadDelivery, shownAttempts, type DeliveryView } from './read-deliveries.ts';
import { assertEnabled } from './read-endpoints.ts';

/**
 * Starts a new round of up to six attempts with the same event.
 *
 * @throws AppError `not_found`, `webhook_disabled`, or `delivery_not_final` while an attempt is under way or due.
 */
export async function replayDelivery(
  { orm, replays }: ReplayDeps,
  actor: Actor,
  endpointId: string,
  id: string,
): Promise<{ readonly delivery: DeliveryView; readonly toSync: readonly DeliveryToSync[] }> {
  const { workspaceId } = actor;
  const { delivery, begun } = await withinLimit(replays, workspaceId, (left) =>
    orm.em.fork().transactional(async (em) => {
      await loadDelivery(em, workspaceId, endpointId, id);
      await assertEnabled(em, workspaceId, endpointId);
      const which = sql`endpoint_id = ${endpointId} and id = ${id} and (status in ('delivered', 'failed') or ${isWaiting})`;
      const rounds = await beginRound(em, workspaceId, [which], left);
      await (rounds.length > 0 && recordAudit(em, actor, 'delivery.replayed', id));
      return { begun: rounds, delivery: await loadDelivery(em, workspaceId, endpointId, id) };
    }),
  );
  if (begun.length === 0) {
    const message =
      'An attempt of this delivery is under way or due now. Read the delivery again for its result.';
    throw new AppError('delivery_not_final', message);
  }

  return { delivery, toSync: begun };
}

/** SQL: the delivery waits for its next attempt, so that no attempt is under way. */
const isWaiting = sql`(status = 'pending' and next_attempt_at > clock_timestamp())`;

/** Deliveries to sync right after the commit. The relay syncs the rest, so that other callers are not delayed. */
const syncedAtOnce = 20;

/**
 * Replays the failed deliveries of an endpoint that are not older than `since`, and then those that wait for their next
 * attempt, at most `maxBegun` per call. Skips deliveries that are due, so a repeated call starts nothing twice, and test
 * calls, whose caller has seen the result.
 *
 * The endpoint is locked before its deliveries, in the same order as its deletion does.
 *
 * @param since RFC 3339.
 * @returns how many deliveries are pending again, and the first of them.
 * @throws AppError `not_found`, `webhook_disabled`, or `invalid_request` when `since` is missing, malformed or in the future.
 */
export async function replayFailed(
  { orm, replays, now }: ReplayDeps & Pick<ServiceDeps, 'now'>,
  actor: Actor,
  endpointId: string,
  since: unknown,
): Promise<{ readonly replaying: number; readonly toSync: readonly DeliveryToSync[] }> {
  const { workspaceId } = actor;
  const { begun } = await withinLimit(replays, workspaceId, (left) =>
    orm.em.fork().transactional(async (em) => {
      await assertEnabled(em, workspaceId, endpointId);
      const asked = sql`endpoint_id = ${endpointId} and created_at >= ${queryTime('since', since, now())}`;
      const failed = sql`${asked} and status = 'failed' and not exists (
        select from events e where e.id = event_id and e.workspace_id = deliveries.workspace_id
          and e.type = 'webhook.test')`;
      const waiting = sql`${asked} and ${isWaiting}`;
      const rounds = await beginRound(em, workspaceId, [failed, waiting], left);
      await (rounds.length > 0 && recordAudit(em, actor, 'webhook.replayed', endpointId));
      return { begun: rounds };
    }),
  );
  return { replaying: begun.length, toSync: begun.slice(0, syncedAtOnce) };
}

/** Limit per call, so that statements and their locks stay short. */
export const maxBegun = 1000;

/**
 * Starts a new round of six attempts for the selected deliveries, at most `maxBegun`.
 *
 * @param kinds SQL conditions, each for an index, that exclude deliveries with an attempt that is under way or due.
 * @returns the deliveries to sync after the commit.
 */
export async function beginRound(
  em: Em,
  workspaceId: string,
  kinds: readonly RawBuilder<unknown>[],
  left = maxBegun,
): Promise<DeliveryToSync[]> {
  const most = Math.min(maxBegun, left);
  const begun: DeliveryToSync[] = [];
  for (const which of kinds) {
    begun.push(...(await beginOldest(em, workspaceId, which, most - begun.length)));
  }

  return begun;
}

/**
 * Oldest first. Attempt numbers continue, and attempts beyond the shown ones are deleted. Locks in a fixed order against
 * deadlocks; a concurrent call waits, finds the deliveries due and skips them.
 */
async function beginOldest(
  em: Em,
  workspaceId: string,
  which: RawBuilder<unknown>,
  most: number,
): Promise<DeliveryToSync[]> {
  const rows = await queryPlanned<{ id: string; round: number }>(
    em,
    sql`with chosen as materialized (
       select id from deliveries where workspace_id = ${workspaceId} and ${which}
       order by created_at, id limit ${most} for update),
     unshown as (
       delete from delivery_attempts a using chosen where a.delivery_id = chosen.id and a.workspace_id = ${workspaceId}
         and a.number <= (select max(number) - ${sql.lit(shownAttempts)} from delivery_attempts newest
           where newest.delivery_id = chosen.id and newest.workspace_id = a.workspace_id))
     update deliveries d set status = 'pending', error = null, round = d.round + 1, next_attempt_at = clock_timestamp(),
       attempts_before = (select coalesce(max(number), 0) from delivery_attempts a
         where a.delivery_id = d.id and a.workspace_id = d.workspace_id)
     from chosen where d.id = chosen.id and d.workspace_id = ${workspaceId} returning d.id, d.round`,
  );
  return rows.map(({ id, round }) => ({ workspaceId, deliveryId: id, round }));
}

/** Replays per workspace and minute, in each process: each is a workflow with up to six requests. */
export const maxReplayed = 2000;

/** The replays of each workspace, and a queue for its calls, so that the limit holds for concurrent ones. */
export const createReplayLimit = () => ({
  counter: new RateLimiterMemory({ points: maxReplayed, duration: 60 }),
  enter: createKeyedSemaphore(1),
});

export type ReplayLimit = ReturnType<typeof createReplayLimit>;

type ReplayDeps = Pick<ServiceDeps, 'orm'> & { readonly replays: ReplayLimit };

/**
 * Runs `begin` with the number of replays that are left, and counts those that it began.
 *
 * @throws AppError `rate_limited` when none is left.
 */
async function withinLimit<T extends { readonly begun: readonly unknown[] }>(
  { counter, enter }: ReplayLimit,
  workspaceId: string,
  begin: (left: number) => Promise<T>,
): Promise<T> {
  const leave = await enter(workspaceId, AbortSignal.any([]));
  try {
    const counted = await counter.get(workspaceId);
    if (counted !== null && counted.remainingPoints <= 0) {
      const retryAfter = Math.max(Math.ceil(counted.msBeforeNext / 1000), 1);
      const message = `More than ${maxReplayed} deliveries of this workspace replayed in a minute. Try again in ${retryAfter} s.`;
      throw new AppError('rate_limited', message, { retryAfter });
    }

    const result = await begin(counted?.remainingPoints ?? maxReplayed);
    await counter.penalty(workspaceId, result.begun.length);
    return result;
  } finally {
    leave();
  }
}
