import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import type { ApiDeps } from '../deps.ts';
import { checkDescription, checkEvents, checkUrl } from './check-endpoint.ts';
import { loadEndpoint } from './load-endpoints.ts';
import type { EndpointView } from './present-endpoint.ts';
import type { EditEndpointBody } from './schemas.ts';

/**
 * Changes what was sent and nothing else. A delivery on its way takes the new URL at its next attempt; the new
 * events count from the next event on.
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
  const before = await loadEndpoint(em, workspaceId, deps.now(), id);
  const { events, description, url, enabled } = request;
  const changes = {
    ...(events === undefined ? {} : { events: checkEvents(events) }),
    ...(description === undefined ? {} : { description: checkDescription(description) }),
    ...(url === undefined ? {} : moved(before.url, await checkUrl(deps, url))),
    ...(enabled === undefined || enabled === before.enabled ? {} : toggled(enabled, deps.now())),
  };
  if (Object.keys(changes).length === 0) {
    return before;
  }

  await em.nativeUpdate(WebhookEndpoint, { id, workspaceId }, changes);
  return loadEndpoint(em, workspaceId, deps.now(), id);
}

/** Another receiver has five days of its own. The same one, sent along with every edit, has not. */
const moved = (from: string, to: string) => (from === to ? {} : { url: to, failingSince: null });

const toggled = (enabled: boolean, now: Date) =>
  enabled
    ? { disabledAt: null, disabledReason: null, failingSince: null }
    : { disabledAt: now, disabledReason: 'requested' as const };
