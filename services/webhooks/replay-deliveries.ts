import { RateLimiterMemory } from 'rate-limiter-flexible';
import { recordAudit, type Actor } from '../../db/audit.ts';
import { beginRounds } from '../../db/delivery-list.ts';
import type { Em } from '../../db/orm.ts';
import { holdEndpoint } from '../../db/repositories/endpoints.ts';
import { queryTime } from '../../domain/due-time.ts';
import { AppError } from '../../domain/errors.ts';
import { createKeyedSemaphore } from '../../runtime/concurrency.ts';
import type { ServiceDeps } from '../deps.ts';
import { loadDelivery, type DeliveryView } from './read-deliveries.ts';

/** Starts a new round of up to six attempts with the same event. */
export async function replayDelivery(
  { orm, replays }: ReplayDeps,
  actor: Actor,
  endpointId: string,
  id: string,
): Promise<DeliveryView> {
  const { workspaceId } = actor;
  return withinLimit(replays, workspaceId, (left) =>
    orm.em.fork().transactional(async (em) => {
      await loadDelivery(em, workspaceId, endpointId, id);
      await holdEnabled(em, workspaceId, endpointId);
      if ((await beginRounds(em, workspaceId, endpointId, { id }, left)) === 0) {
        const message =
          'An attempt of this delivery is under way or due now. Read the delivery again for its result.';
        throw new AppError('delivery_not_final', message);
      }

      await recordAudit(em, actor, 'delivery.replayed', id);
      return { begun: 1, result: await loadDelivery(em, workspaceId, endpointId, id) };
    }),
  );
}

async function holdEnabled(em: Em, workspaceId: string, id: string): Promise<void> {
  const { disabledAt } = await holdEndpoint(em, workspaceId, id);
  if (disabledAt) {
    const message =
      'This webhook endpoint is disabled. Enable it first: PATCH it with {"enabled": true}.';
    throw new AppError('webhook_disabled', message);
  }
}

/**
 * Replays the failed deliveries of an endpoint that are not older than `since`, and then those that wait for their next
 * attempt, at most `maxBegun`. @returns how many deliveries are pending again.
 */
export async function replayFailed(
  { orm, replays, now }: ReplayDeps & Pick<ServiceDeps, 'now'>,
  actor: Actor,
  endpointId: string,
  since: unknown,
): Promise<number> {
  const { workspaceId } = actor;
  return withinLimit(replays, workspaceId, (left) =>
    orm.em.fork().transactional(async (em) => {
      await holdEnabled(em, workspaceId, endpointId);
      const which = { since: queryTime('since', since, now()) };
      const most = Math.min(maxBegun, left);
      const begun = await beginRounds(em, workspaceId, endpointId, which, most);
      await (begun > 0 && recordAudit(em, actor, 'webhook.replayed', endpointId));
      return { begun, result: begun };
    }),
  );
}

/** Limit per call, so that statements and their locks stay short. */
export const maxBegun = 1000;

/** Replays per workspace and minute, in each process: each is a workflow with up to six requests. */
export const maxReplayed = 2000;

/** The replays of each workspace, and a queue for its calls, so that the limit holds for concurrent ones. */
export const createReplayLimit = () => ({
  counter: new RateLimiterMemory({ points: maxReplayed, duration: 60 }),
  enter: createKeyedSemaphore(1),
});

export type ReplayLimit = ReturnType<typeof createReplayLimit>;

type ReplayDeps = Pick<ServiceDeps, 'orm'> & { readonly replays: ReplayLimit };

/** Runs `begin` with the number of replays that are left, and counts those that it began. */
async function withinLimit<T>(
  { counter, enter }: ReplayLimit,
  workspaceId: string,
  begin: (left: number) => Promise<{ readonly begun: number; readonly result: T }>,
): Promise<T> {
  const leave = await enter(workspaceId, AbortSignal.any([]));
  try {
    const counted = await counter.get(workspaceId);
    if (counted !== null && counted.remainingPoints <= 0) {
      const retryAfter = Math.max(Math.ceil(counted.msBeforeNext / 1000), 1);
      const message = `More than ${maxReplayed} deliveries of this workspace replayed in a minute. Try again in ${retryAfter} s.`;
      throw new AppError('rate_limited', message, { retryAfter });
    }

    const { begun, result } = await begin(counted?.remainingPoints ?? maxReplayed);
    await counter.penalty(workspaceId, begun);
    return result;
  } finally {
    leave();
  }
}
