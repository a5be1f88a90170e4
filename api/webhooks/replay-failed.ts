import { AppError } from '../../domain/errors.ts';
import { parseInstant } from '../../domain/due-time.ts';
import type { ApiDeps } from '../deps.ts';
import { beginRound } from './begin-round.ts';
import { mustBeEnabled } from './load-endpoints.ts';

/** How many Temporal is told of at once. The relay tells of the others, so that there is room for what others ask for. */
const toldAtOnce = 20;

/**
 * Replays the failed deliveries of an endpoint whose events are no older than `since`, at most `maxBegun` at once.
 * Those on their way already are left alone, so a second call begins nothing twice; so are test calls, which somebody
 * made to look and who has seen the answer.
 *
 * The endpoint is locked before its deliveries, as its deletion locks them.
 *
 * @param since RFC 3339.
 * @returns how many deliveries are being sent again.
 * @throws AppError `not_found`, `webhook_disabled`, or `invalid_request` when `since` is missing or no such time.
 */
export async function replayFailed(
  deps: ApiDeps,
  workspaceId: string,
  endpointId: string,
  since: unknown,
): Promise<number> {
  const begun = await deps.orm.em.fork().transactional(async (em) => {
    await mustBeEnabled(em, workspaceId, endpointId);
    return beginRound(em, workspaceId, {
      which: `endpoint_id = ? and created_at >= ? and status = 'failed' and not exists (
        select from events e where e.id = event_id and e.workspace_id = deliveries.workspace_id
          and e.type = 'webhook.test')`,
      values: [endpointId, readSince(since)],
    });
  });
  begun.slice(0, toldAtOnce).forEach(deps.syncDelivery);
  return begun.length;
}

function readSince(since: unknown): Date {
  const instant = typeof since === 'string' ? parseInstant(since) : null;
  if (!instant) {
    const what = since === undefined ? 'is missing' : 'is no such time';
    const message = `${what}: give RFC 3339 with Z or an offset, such as 2027-03-01T09:00:00Z`;
    const details = [{ path: '?since', message }];
    throw new AppError('invalid_request', `?since ${message}.`, { details });
  }

  return new Date(Math.max(0, instant.getTime())); // PostgreSQL knows no year 0.
}
