import { LockMode } from '@mikro-orm/core';
import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import type { ApiDeps } from '../deps.ts';
import { checkDescription, checkEvents, checkUrl } from './check-endpoint.ts';
import { loadEndpoint, mustExist, unknownEndpoint } from './load-endpoints.ts';
import type { EndpointView } from './present-endpoint.ts';
import type { EditEndpointBody } from './schemas.ts';

/**
 * Changes what was sent and nothing else. A delivery on its way takes the new URL at its next attempt; the new
 * events count from the next event on. Where the URL leads is looked up first, which may take seconds; what the change
 * means for the endpoint is decided by what it is then, as the service may have disabled it meanwhile.
 *
 * @throws AppError `not_found`, `invalid_webhook_url` or `invalid_events`.
 */
export async function editEndpoint(
  deps: ApiDeps,
  workspaceId: string,
  id: string,
  request: EditEndpointBody,
): Promise<EndpointView> {
  const em = deps.orm.em.fork();
  await mustExist(em, workspaceId, id);
  const { events, description, url, enabled } = request;
  const checked = {
    ...(events === undefined ? {} : { events: checkEvents(events) }),
    ...(description === undefined ? {} : { description: checkDescription(description) }),
  };
  const to = url === undefined ? undefined : await checkUrl(deps, url);
  return em.transactional(async (within) => {
    const where = { id, workspaceId };
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    const before = await within.findOne(WebhookEndpoint, where, { lockMode });
    if (!before) {
      throw unknownEndpoint(id);
    }

    const changes = {
      ...checked,
      ...(to === undefined ? {} : moved(before.url, to)),
      ...(enabled === undefined ? {} : toggled(before, enabled, deps.now())),
    };
    if (Object.keys(changes).length > 0) {
      await within.nativeUpdate(WebhookEndpoint, where, changes);
    }

    return loadEndpoint(within, workspaceId, deps.now(), id);
  });
}

/** Another receiver has five days of its own. The same one, sent along with every edit, has not. */
const moved = (from: string, to: string) => (from === to ? {} : { url: to, failingSince: null });

function toggled({ disabledAt }: WebhookEndpoint, enabled: boolean, now: Date) {
  if (enabled === (disabledAt === null)) {
    return {};
  }

  return enabled
    ? { disabledAt: null, disabledReason: null, failingSince: null }
    : { disabledAt: now, disabledReason: 'requested' as const };
}
