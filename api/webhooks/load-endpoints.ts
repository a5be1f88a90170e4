import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import type { DisabledReason } from '../../domain/webhook-deliveries.ts';
import type { EventType } from '../../domain/post-status.ts';
import { presentEndpoint, type EndpointView } from './present-endpoint.ts';

type Row = {
  id: string;
  url: string;
  events: EventType[];
  description: string | null;
  sealed_secret: string;
  secret_hint: string;
  next_sealed_secret: string | null;
  next_secret_hint: string | null;
  rotates_at: string | Date | null;
  failing_since: string | Date | null;
  disabled_at: string | Date | null;
  disabled_reason: DisabledReason | null;
  created_at: string | Date;
  last_status: DeliveryStatus | null;
  last_created_at: string | Date | null;
  last_response_status: number | null;
  last_error: string | null;
};

/**
 * A workspace's endpoints, oldest first, each with its newest delivery: one query, which takes one step down an
 * index per endpoint.
 *
 * @param id Of the only one to load.
 */
export async function loadEndpoints(
  em: Em,
  workspaceId: string,
  now: Date,
  id?: string,
): Promise<EndpointView[]> {
  const rows = await em.execute<Row[]>(
    `select w.*, d.status as last_status, d.created_at as last_created_at,
       a.response_status as last_response_status, coalesce(d.error, a.error) as last_error
     from webhook_endpoints w
     left join lateral (
       select id, status, created_at, error from deliveries
       where endpoint_id = w.id and workspace_id = w.workspace_id
       order by created_at desc, id desc limit 1) d on true
     left join lateral (
       select response_status, error from delivery_attempts
       where delivery_id = d.id and workspace_id = w.workspace_id and not under_way
       order by number desc limit 1) a on true
     where w.workspace_id = ? ${id === undefined ? '' : 'and w.id = ?'} order by w.created_at, w.id`,
    id === undefined ? [workspaceId] : [workspaceId, id],
  );
  return rows.map((row) => present(row, now));
}

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

/** @throws AppError `not_found` */
export async function mustExist(em: Em, workspaceId: string, id: string): Promise<void> {
  const sql = 'select id from webhook_endpoints where id = ? and workspace_id = ?';
  if ((await em.execute<unknown[]>(sql, [id, workspaceId])).length === 0) {
    throw unknownEndpoint(id);
  }
}

/** @throws AppError `not_found`, or `webhook_disabled` */
export async function mustBeEnabled(em: Em, workspaceId: string, id: string): Promise<void> {
  const [row] = await em.execute<{ disabled: boolean }[]>(
    `select disabled_at is not null as disabled from webhook_endpoints
     where id = ? and workspace_id = ? for key share`,
    [id, workspaceId],
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

const date = (at: string | Date | null): Date | null => (at === null ? null : new Date(at));

function present(row: Row, now: Date): EndpointView {
  const stored = {
    id: row.id,
    url: row.url,
    events: row.events,
    description: row.description,
    sealedSecret: row.sealed_secret,
    secretHint: row.secret_hint,
    nextSealedSecret: row.next_sealed_secret,
    nextSecretHint: row.next_secret_hint,
    rotatesAt: date(row.rotates_at),
    failingSince: date(row.failing_since),
    disabledAt: date(row.disabled_at),
    disabledReason: row.disabled_reason,
    createdAt: new Date(row.created_at),
  };
  const last =
    row.last_status === null || row.last_created_at === null
      ? null
      : {
          status: row.last_status,
          response_status: row.last_response_status,
          error: row.last_error,
          created_at: new Date(row.last_created_at).toISOString(),
        };
  return presentEndpoint(stored, last, now);
}
