import { LockMode } from '@mikro-orm/core';
import { sql } from 'kysely';
import { WebhookEndpoint } from '../../db/entities/webhook-endpoint.ts';
import { newId } from '../../db/new-id.ts';
import { db, query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { eventTypes, type EventType } from '../../domain/post-status.ts';
import { isText } from '../../domain/texts.ts';
import { normalUrl } from '../../runtime/egress/target.ts';
import type { ApiDeps } from '../deps.ts';
import { newSecret } from './rotate-secret.ts';
import { assertExists, loadEndpoint, unknownEndpoint } from './read-endpoints.ts';
import type { CreateEndpointBody, EditEndpointBody, EndpointView } from './schemas.ts';

/** Endpoints per workspace (docs/webhooks.md, Limits). */
const maxEndpoints = 10;

/**
 * Registers an endpoint. The signing secret is returned once and stored sealed.
 *
 * @throws AppError `invalid_webhook_url`, `invalid_events` or `webhook_limit_reached`.
 */
export async function createEndpoint(
  deps: ApiDeps,
  workspaceId: string,
  request: CreateEndpointBody,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  const events = checkEvents(request.events);
  const description = checkDescription(request.description ?? null);
  const url = await checkUrl(deps, request.url);
  const id = newId();
  const { secret, kept } = newSecret(deps, id);
  const endpoint = await deps.orm.em.fork().transactional(async (em) => {
    // The lock on the workspace serialises registrations, so that the limit holds.
    await query(em, sql`select id from workspaces where id = ${workspaceId} for update`);
    if ((await em.count(WebhookEndpoint, { workspaceId })) >= maxEndpoints) {
      throw new AppError(
        'webhook_limit_reached',
        `A workspace has at most ${maxEndpoints} webhook endpoints. Delete one first.`,
      );
    }

    return em.create(WebhookEndpoint, {
      id,
      workspaceId,
      url,
      events,
      description,
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
  });
  return { endpoint, secret };
}

/**
 * Changes the sent fields of an endpoint. A pending delivery uses the new URL from its next attempt on; new events
 * apply to later events. The URL is resolved before the transaction, which may take seconds; `enabled` is compared
 * with the state afterwards, since the endpoint may have been disabled meanwhile.
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
  await assertExists(em, workspaceId, id);
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
 * Deletes an endpoint with its deliveries and their attempts. Workflows that wait for a next attempt are not
 * signalled: each holds only a timer, finds no delivery when it fires (within 6 hours) and ends. A signal would be one
 * message per delivery, without an outbox, for no visible effect.
 *
 * Slots are deleted before deliveries, the order in which a starting attempt writes them.
 *
 * @throws AppError `not_found`
 */
export async function deleteEndpoint(
  deps: ApiDeps,
  workspaceId: string,
  id: string,
): Promise<void> {
  await deps.orm.em.fork().transactional(async (em) => {
    const locked = await query(
      em,
      sql`select id from webhook_endpoints where id = ${id} and workspace_id = ${workspaceId} for update`,
    );
    if (locked.length === 0) {
      throw unknownEndpoint(id);
    }

    await query(
      em,
      db
        .deleteFrom('endpoint_places')
        .where('endpoint_id', '=', id)
        .where('workspace_id', '=', workspaceId),
    );
    await em.nativeDelete(WebhookEndpoint, { id, workspaceId });
  });
}

/**
 * @returns the URL in its stored, normal form.
 * @throws AppError `invalid_webhook_url` with the reason when webhooks must not be sent there.
 */
async function checkUrl({ refuseUrl }: ApiDeps, url: string): Promise<string> {
  const refusal = isText(url)
    ? await refuseUrl(url)
    : 'The URL contains NUL or half of a surrogate pair.';
  if (refusal !== null) {
    const details = [{ path: '/url', message: refusal }];
    throw new AppError('invalid_webhook_url', refusal, { details });
  }

  return normalUrl(url);
}

/**
 * @returns the events without duplicates.
 * @throws AppError `invalid_events` that names the unknown ones.
 */
function checkEvents(given: readonly string[]): EventType[] {
  const known = (name: string): name is EventType =>
    (eventTypes as readonly string[]).includes(name);
  const unknown = given.filter((name) => !known(name));
  if (given.length === 0 || unknown.length > 0) {
    const what =
      unknown.length > 0 ? `has unknown names: ${unknown.join(', ')}` : 'must not be empty';
    const message = `events ${what}. Known events: ${eventTypes.join(', ')}.`;
    throw new AppError('invalid_events', message, { details: [{ path: '/events', message }] });
  }

  return [...new Set(given.filter(known))];
}

/** @throws AppError `invalid_request` when PostgreSQL cannot store it. */
function checkDescription(description: string | null): string | null {
  if (!isText(description ?? '')) {
    const message = 'must be text: no NUL, no half of a surrogate pair';
    const details = [{ path: '/description', message }];
    throw new AppError('invalid_request', `description ${message}.`, { details });
  }

  return description;
}
