import { WebhookEndpoint } from '../../db/entities/webhooks.ts';
import type { Em } from '../../db/orm.ts';
import { findLastDeliveries, type LastDelivery } from '../../db/repositories/endpoints.ts';
import { secretsOf } from '../../domain/webhook-deliveries.ts';

export async function loadEndpoints(
  em: Em,
  workspaceId: string,
  now: Date,
): Promise<EndpointView[]> {
  const oldestFirst = { orderBy: { createdAt: 'asc', id: 'asc' } } as const;
  const endpoints = await em.find(WebhookEndpoint, { workspaceId }, oldestFirst);
  const ids = endpoints.map(({ id }) => id);
  const last = new Map(
    (await findLastDeliveries(em, workspaceId, ids)).map((one) => [one.id, one]),
  );
  return endpoints.map((endpoint) => presentEndpoint(endpoint, last.get(endpoint.id), now));
}

export async function showEndpoint(
  em: Em,
  endpoint: WebhookEndpoint,
  now: Date,
): Promise<EndpointView> {
  const [last] = await findLastDeliveries(em, endpoint.workspaceId, [endpoint.id]);
  return presentEndpoint(endpoint, last, now);
}

/** An endpoint as its owner sees it at the given time, with its newest delivery. Times are ISO 8601. */
export function presentEndpoint(
  stored: WebhookEndpoint,
  last: LastDelivery | undefined,
  now: Date,
) {
  const { id, url, events, description, createdAt } = stored;
  const { current, next } = secretsOf(stored, now);
  return {
    id,
    url,
    events,
    description: description ?? '',
    secret_hint: current.hint,
    next_secret_hint: next?.hint ?? null,
    rotates_at: next?.rotatesAt.toISOString() ?? null,
    enabled: stored.disabledAt === null,
    disabled_at: stored.disabledAt?.toISOString() ?? null,
    disabled_reason: stored.disabledReason,
    failing_since: stored.failingSince?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    last_delivery: last
      ? {
          status: last.status,
          response_status: last.response_status,
          error: last.error,
          created_at: last.created_at.toISOString(),
        }
      : null,
  };
}

export type EndpointView = ReturnType<typeof presentEndpoint>;

export async function sameUrlWarning(
  em: Em,
  workspaceId: string,
  { id, url }: { readonly id: string; readonly url: string },
): Promise<string | null> {
  const same = { workspaceId, url, id: { $ne: id } };
  const [other] = await em.find(WebhookEndpoint, same, { orderBy: { id: 'asc' }, limit: 1 });
  return other
    ? `The endpoint ${other.id} has the same URL: events that both subscribe to are sent there twice.`
    : null;
}
