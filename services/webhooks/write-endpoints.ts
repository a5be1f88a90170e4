import { recordAudit, type Actor } from '../../db/audit.ts';
import { WebhookEndpoint } from '../../db/entities/webhooks.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { findEndpoint, lockEndpoint, unknownEndpoint } from '../../db/repositories/endpoints.ts';
import { eventBody, recordTest } from '../../db/record-event.ts';
import { lockWorkspace } from '../../db/repositories/workspaces.ts';
import { signingSecretPurpose } from '../../db/sealing-purposes.ts';
import { AppError, wrongValue } from '../../domain/errors.ts';
import { everyEvent, eventTypes, type Subscription } from '../../domain/statuses.ts';
import { isText, notText } from '../../domain/texts.ts';
import {
  maxEndpoints,
  rotationOverlapMs,
  secretsOf,
  type KeptSecret,
} from '../../domain/webhook-deliveries.ts';
import { normalUrl } from '../../runtime/egress/target.ts';
import { newSigningSecret } from '../../runtime/secrets.ts';
import { sendWebhook } from '../../runtime/send-webhook.ts';
import type { ServiceDeps } from '../deps.ts';
import { createOnce, type RequestKey } from '../idempotency.ts';
import { outsideTurn } from '../turns.ts';
import { loadDelivery, type DeliveryView } from './read-deliveries.ts';
import {
  presentEndpoint,
  sameUrlWarning,
  showEndpoint,
  type EndpointView,
} from './read-endpoints.ts';

/** Only the given fields change. */
type EndpointEdit = {
  readonly url?: string;
  readonly events?: readonly string[];
  readonly description?: string | null;
  readonly enabled?: boolean;
};

/** Registers an endpoint. The signing secret is returned once and stored sealed. */
export async function createEndpoint(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'sealer' | 'refuseUrl'>,
  actor: Actor,
  request: EndpointEdit & Required<Pick<EndpointEdit, 'url' | 'events'>>,
  key?: RequestKey,
): Promise<CreatedEndpoint & { readonly replayed: boolean }> {
  return createOnce<CreatedEndpoint>(deps, actor.workspaceId, key, async (transact) => {
    const events = checkEvents(request.events);
    const description = checkDescription(request.description ?? null);
    const url = await checkUrl(deps, request.url);
    return transact((em) => storeEndpoint(deps, em, actor, { url, events, description }));
  });
}

type WrittenEndpoint = { readonly endpoint: EndpointView; readonly warning: string | null };
type CreatedEndpoint = WrittenEndpoint & { readonly secret: string };

async function storeEndpoint(
  deps: Pick<ServiceDeps, 'now' | 'sealer'>,
  em: Em,
  actor: Actor,
  checked: Pick<WebhookEndpoint, 'url' | 'events' | 'description'>,
): Promise<CreatedEndpoint> {
  const { workspaceId } = actor;
  await lockWorkspace(em, workspaceId); // Serialises registrations, so that the limit holds.
  if ((await em.count(WebhookEndpoint, { workspaceId })) >= maxEndpoints) {
    const message = `A workspace has at most ${maxEndpoints} webhook endpoints. Delete one first.`;
    throw new AppError('webhook_limit_reached', message);
  }

  const id = newId();
  const { secret, kept } = newSecret(deps, id);
  await recordAudit(em, actor, 'webhook.created', id);
  const endpoint = em.create(WebhookEndpoint, {
    ...checked,
    id,
    workspaceId,
    sealedSecret: kept.sealed,
    secretHint: kept.hint,
    nextSealedSecret: null,
    nextSecretHint: null,
    rotatesAt: null,
    failingSince: null,
    disabledAt: null,
    disabledReason: null,
    createdAt: deps.now(),
  });
  const warning = await sameUrlWarning(em, workspaceId, endpoint);
  return { endpoint: presentEndpoint(endpoint, undefined, deps.now()), secret, warning };
}

/**
 * Changes the sent fields of an endpoint. The URL is resolved before the transaction, which may take seconds; `enabled`
 * is compared with the state afterwards, since the endpoint may have been disabled meanwhile.
 */
export async function editEndpoint(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'refuseUrl'>,
  actor: Actor,
  id: string,
  request: EndpointEdit,
): Promise<WrittenEndpoint> {
  const { workspaceId } = actor;
  await findEndpoint(deps.orm.em.fork(), workspaceId, id);
  const { events, description, url, enabled } = request;
  const checked = {
    ...(events === undefined ? {} : { events: checkEvents(events) }),
    ...(description === undefined ? {} : { description: checkDescription(description) }),
  };
  const to = url === undefined ? undefined : await checkUrl(deps, url);
  return deps.orm.em.fork().transactional(async (em) => {
    const endpoint = await lockEndpoint(em, workspaceId, id);
    const now = deps.now();
    const changes = {
      ...checked,
      ...(to === undefined ? {} : moved(endpoint.url, to)),
      ...(enabled === undefined ? {} : toggled(endpoint, enabled, now)),
    };
    if (Object.keys(changes).length > 0) {
      em.assign(endpoint, changes);
      await recordAudit(em, actor, 'webhook.edited', id);
    }

    const warning = to === undefined ? null : await sameUrlWarning(em, workspaceId, endpoint);
    return { endpoint: await showEndpoint(em, endpoint, now), warning };
  });
}

/** A new URL restarts the five days. Sending the same URL again does not. */
const moved = (from: string, to: string) => (from === to ? {} : { url: to, failingSince: null });

function toggled({ disabledAt }: WebhookEndpoint, enabled: boolean, now: Date) {
  if (enabled === (disabledAt === null)) {
    return {};
  }

  return enabled
    ? { disabledAt: null, disabledReason: null, failingSince: null }
    : { disabledAt: now, disabledReason: 'requested' as const };
}

/**
 * Deletes an endpoint with its deliveries. Workflows that wait for a next attempt are not signalled: each finds no
 * delivery when its timer fires, and ends.
 */
export async function deleteEndpoint(
  { orm }: Pick<ServiceDeps, 'orm'>,
  actor: Actor,
  id: string,
): Promise<void> {
  const { workspaceId } = actor;
  await orm.em.fork().transactional(async (em) => {
    if ((await em.nativeDelete(WebhookEndpoint, { id, workspaceId })) === 0) {
      throw unknownEndpoint(id);
    }

    await recordAudit(em, actor, 'webhook.deleted', id);
  });
}

/**
 * Creates a new signing secret, which signs beside the current one for 24 hours and then alone. During an overlap it
 * replaces the pending secret and restarts the 24 hours. A refusal would be worse: the answer with the secret may be lost.
 * If a lost SECRET_KEY sealed the current secret, the new one replaces it at once.
 */
export async function rotateSecret(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'sealer'>,
  actor: Actor,
  id: string,
): Promise<{ endpoint: EndpointView; secret: string }> {
  const { workspaceId } = actor;
  const { secret, kept } = newSecret(deps, id);
  const endpoint = await deps.orm.em.fork().transactional(async (em) => {
    const stored = await lockEndpoint(em, workspaceId, id);
    const now = deps.now();
    const { current } = secretsOf(stored, now);
    em.assign(stored, {
      sealedSecret: current.sealed,
      secretHint: current.hint,
      nextSealedSecret: kept.sealed,
      nextSecretHint: kept.hint,
      rotatesAt: new Date(
        now.getTime() + (deps.sealer.hasSealed(current.sealed) ? rotationOverlapMs : 0),
      ),
    });
    await recordAudit(em, actor, 'webhook.rotated', id);
    return showEndpoint(em, stored, now);
  });
  return { endpoint, secret };
}

/** Creates a signing secret: the plain text, to be shown once, and the stored form. */
function newSecret(
  { sealer }: Pick<ServiceDeps, 'sealer'>,
  endpointId: string,
): { readonly secret: string; readonly kept: KeptSecret } {
  const secret = newSigningSecret();
  const sealed = sealer.seal(secret, signingSecretPurpose(endpointId));
  return { secret, kept: { sealed, hint: `whsec_…${secret.slice(-4)}` } };
}

/** @returns the URL in its stored, normal form. */
async function checkUrl(
  { refuseUrl }: Pick<ServiceDeps, 'refuseUrl'>,
  url: string,
): Promise<string> {
  const refusal = isText(url)
    ? await refuseUrl(url)
    : 'The URL contains NUL or half of a surrogate pair.';
  if (refusal !== null) {
    const details = [{ path: '/url', message: refusal }];
    throw new AppError('invalid_webhook_url', refusal, { details });
  }

  return normalUrl(url);
}

/** @returns the events without duplicates; `*` replaces all others. */
function checkEvents(given: readonly string[]): Subscription[] {
  const known = (name: string): name is Subscription =>
    name === everyEvent || (eventTypes as readonly string[]).includes(name);
  const unknown = given.filter((name) => !known(name));
  if (given.length === 0 || unknown.length > 0) {
    const what =
      unknown.length > 0 ? `has unknown names: ${unknown.join(', ')}` : 'must not be empty';
    const places =
      unknown.length > 0 ? unknown.map((name) => `/events/${given.indexOf(name)}`) : ['/events'];
    const message = `events ${what}. Known events: ${eventTypes.join(', ')}; "${everyEvent}" is all of them.`;
    throw new AppError('invalid_events', message, {
      details: places.map((path) => ({ path, message, allowed: [...eventTypes, everyEvent] })),
    });
  }

  return given.includes(everyEvent) ? [everyEvent] : [...new Set(given.filter(known))];
}

function checkDescription(description: string | null): string | null {
  if (!isText(description ?? '')) {
    throw wrongValue('/description', notText);
  }

  return description;
}

type TestedDelivery = DeliveryView & {
  /** The beginning of the receiver's response as text; null without a response. */
  readonly response_body: string | null;
};

/**
 * Sends a `webhook.test` event to the endpoint in one attempt, regardless of its subscriptions. The delivery is stored
 * afterwards in one transaction, so that a crash leaves nothing pending. A failing receiver is not an error.
 */
export async function testEndpoint(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'egress' | 'sealer'>,
  actor: Actor,
  id: string,
): Promise<TestedDelivery> {
  const { workspaceId } = actor;
  const endpoint = await findEndpoint(deps.orm.em.fork(), workspaceId, id);
  const { url } = endpoint;
  const createdAt = deps.now();
  const event = { workspaceId, type: 'webhook.test', data: { webhook: { id, url } } } as const;
  const eventId = newId();
  const body = eventBody(eventId, { ...event, createdAt });
  const result = await outsideTurn(() =>
    sendWebhook(
      deps.egress,
      { url, eventId, eventType: event.type, body },
      secretsOf(endpoint, createdAt),
      (sealed) => deps.sealer.open(sealed, signingSecretPurpose(id)),
      createdAt,
    ),
  );
  const sent = { id: eventId, createdAt, body, endpointId: id };
  const delivery = await deps.orm.em.fork().transactional(async (em) => {
    await recordAudit(em, actor, 'webhook.tested', id);
    const stored = await recordTest(em, event, sent, result);
    if (stored === undefined) {
      throw unknownEndpoint(id); // It was deleted meanwhile.
    }

    return loadDelivery(em, workspaceId, id, stored);
  });
  return { ...delivery, response_body: result.responseBody };
}
