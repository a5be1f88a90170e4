import { sql } from 'kysely';
import type { DeliveryStatus, WebhookEndpoint } from '../../db/entities/webhooks.ts';
import type { Em } from '../../db/orm.ts';
import { db, query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { Subscription } from '../../domain/statuses.ts';
import { secretsOf } from '../../domain/webhook-deliveries.ts';

/** An endpoint's newest delivery. */
type LastDelivery = {
  readonly status: DeliveryStatus;
  readonly response_status: number | null;
  readonly error: string | null;
  readonly created_at: string;
};

/** An endpoint as its owner sees it. Times are ISO 8601. */
export type EndpointView = {
  readonly id: string;
  readonly url: string;
  readonly events: readonly Subscription[];
  readonly description: string;
  readonly secret_hint: string;
  readonly next_secret_hint: string | null;
  readonly rotates_at: string | null;
  readonly enabled: boolean;
  readonly disabled_at: string | null;
  readonly disabled_reason: WebhookEndpoint['disabledReason'];
  readonly failing_since: string | null;
  readonly created_at: string;
  readonly last_delivery: LastDelivery | null;
};

type StoredEndpoint = Omit<WebhookEndpoint, 'workspaceId'>;

type Row = StoredEndpoint & {
  readonly lastStatus: LastDelivery['status'] | null;
  readonly lastCreatedAt: Date | null;
  readonly lastResponseStatus: number | null;
  readonly lastError: string | null;
};

/**
 * Loads a workspace's endpoints, oldest first, each with its newest delivery. One query with one index lookup per
 * endpoint.
 *
 * @param id Loads only this endpoint.
 */
export async function loadEndpoints(
  em: Em,
  workspaceId: string,
  now: Date,
  id?: string,
): Promise<EndpointView[]> {
  const rows = await query<Row>(
    em,
    sql`select w.id, w.url, w.events, w.description,
       w.sealed_secret as "sealedSecret", w.secret_hint as "secretHint",
       w.next_sealed_secret as "nextSealedSecret", w.next_secret_hint as "nextSecretHint", w.rotates_at as "rotatesAt",
       w.failing_since as "failingSince", w.disabled_at as "disabledAt", w.disabled_reason as "disabledReason",
       w.created_at as "createdAt",
       d.status as "lastStatus", d.created_at as "lastCreatedAt",
       a.response_status as "lastResponseStatus", coalesce(d.error, a.error) as "lastError"
     from webhook_endpoints w
     left join lateral (
       select id, status, created_at, error from deliveries
       where endpoint_id = w.id and workspace_id = w.workspace_id
       order by created_at desc, id desc limit 1) d on true
     left join lateral (
       select response_status, error from delivery_attempts
       where delivery_id = d.id and workspace_id = w.workspace_id
       order by number desc limit 1) a on true
     where w.workspace_id = ${workspaceId} ${id === undefined ? sql`` : sql`and w.id = ${id}`}
     order by w.created_at, w.id`,
  );
  return rows.map((row) => presentEndpoint(row, lastDeliveryOf(row), now));
}

const lastDeliveryOf = (row: Row): LastDelivery | null =>
  row.lastStatus === null || row.lastCreatedAt === null
    ? null
    : {
        status: row.lastStatus,
        response_status: row.lastResponseStatus,
        error: row.lastError,
        created_at: row.lastCreatedAt.toISOString(),
      };

/** @throws AppError `not_found` */
export async function loadEndpoint(
  em: Em,
  workspaceId: string,
  now: Date,
  id: string,
): Promise<EndpointView> {
  const [endpoint] = await loadEndpoints(em, workspaceId, now, id);
  if (!endpoint) {
    throw unknownEndpoint(id);
  }

  return endpoint;
}

/** The API's view of an endpoint at the given time. */
export function presentEndpoint(
  stored: StoredEndpoint,
  last: LastDelivery | null,
  now: Date,
): EndpointView {
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
    last_delivery: last,
  };
}

/** Returns a warning if another endpoint of the workspace has the same URL. */
export async function sameUrlWarning(
  em: Em,
  workspaceId: string,
  { id, url }: { readonly id: string; readonly url: string },
): Promise<string | null> {
  const [other] = await query(
    em,
    sql<{ id: string }>`select id from webhook_endpoints
      where workspace_id = ${workspaceId} and url = ${url} and id <> ${id} order by id limit 1`,
  );
  return other
    ? `The endpoint ${other.id} has the same URL: events that both subscribe to are sent there twice.`
    : null;
}

/** @throws AppError `not_found` */
export async function assertExists(em: Em, workspaceId: string, id: string): Promise<void> {
  const found = await query(
    em,
    db
      .selectFrom('webhook_endpoints')
      .select('id')
      .where('id', '=', id)
      .where('workspace_id', '=', workspaceId),
  );
  if (found.length === 0) {
    throw unknownEndpoint(id);
  }
}

/** @throws AppError `not_found`, or `webhook_disabled` */
export async function assertEnabled(em: Em, workspaceId: string, id: string): Promise<void> {
  const [row] = await query<{ disabled: boolean }>(
    em,
    sql`select disabled_at is not null as disabled from webhook_endpoints
     where id = ${id} and workspace_id = ${workspaceId} for key share`,
  );
  if (!row) {
    throw unknownEndpoint(id);
  }

  if (row.disabled) {
    throw new AppError(
      'webhook_disabled',
      'This webhook endpoint is disabled. Enable it first: PATCH it with {"enabled": true}.',
    );
  }
}

export const unknownEndpoint = (id: string): AppError =>
  new AppError('not_found', `There is no webhook endpoint "${id}".`);
