import { sql, type RawBuilder } from 'kysely';
import type { DeliveryStatus } from '../../db/entities/webhooks.ts';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { EventType } from '../../domain/statuses.ts';
import { encodeCursor, readCursor, type Cursor } from '../cursor.ts';
import { assertExists } from './read-endpoints.ts';

/** Limit of attempts per delivery, shown and kept at a replay, so that responses stay small after many replays. */
export const shownAttempts = 50;

/** Default and maximum of deliveries per page. */
export const maxDeliveriesPage = 100;

type Attempt = {
  readonly number: number;
  readonly created_at: string;
  readonly duration_ms: number;
  readonly response_status: number | null;
  readonly error: string | null;
};

/** A delivery as the endpoint's owner sees it. Times are ISO 8601. */
export type DeliveryView = {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly post_id: string | null;
  readonly status: DeliveryStatus;
  /** The newest, in order. */
  readonly attempts: readonly Attempt[];
  readonly attempt_count: number;
  readonly response_status: number | null;
  readonly error: string | null;
  readonly next_attempt_at: string | null;
  readonly created_at: string;
};

type DeliverySearch = {
  readonly status?: DeliveryStatus | undefined;
  readonly eventType?: EventType | undefined;
  readonly limit?: number | undefined;
  /** The `next_cursor` of the previous page. */
  readonly cursor?: string | undefined;
};

/**
 * Lists an endpoint's deliveries by pages, newest first.
 *
 * @throws AppError `not_found`, or `invalid_request` for an invalid cursor.
 */
export async function listDeliveries(
  em: Em,
  workspaceId: string,
  endpointId: string,
  { status, eventType, limit = maxDeliveriesPage, cursor }: DeliverySearch,
): Promise<{ deliveries: DeliveryView[]; next_cursor: string | null }> {
  await assertExists(em, workspaceId, endpointId);
  const after = readCursor(cursor);
  // One row beyond the page tells whether there is a next one.
  const filter = { status, eventType, after, limit: limit + 1 };
  const found = await loadDeliveries(em, workspaceId, endpointId, filter);
  const deliveries = found.slice(0, limit);
  const last = found.length > limit ? deliveries.at(-1) : undefined;
  return {
    deliveries,
    next_cursor: last ? encodeCursor({ createdAt: new Date(last.created_at), id: last.id }) : null,
  };
}

/** Selects deliveries of an endpoint; all conditions must hold. */
type DeliveryFilter = {
  readonly limit: number;
  readonly id?: string | undefined;
  readonly status?: DeliveryView['status'] | undefined;
  readonly eventType?: EventType | undefined;
  /** Only older deliveries. */
  readonly after?: Cursor | undefined;
};

type Row = Pick<DeliveryView, 'id' | 'event_id' | 'event_type' | 'post_id' | 'status' | 'error'> & {
  readonly next_attempt_at: Date | null;
  readonly created_at: Date;
  /** Newest first, as in the index. PostgreSQL writes times inside JSON as strings. */
  readonly attempts: DeliveryView['attempts'] | null;
};

/**
 * Loads an endpoint's deliveries with their newest attempts, newest first. One statement, because a second one could
 * show an attempt whose outcome the first did not see.
 */
export async function loadDeliveries(
  em: Em,
  workspaceId: string,
  endpointId: string,
  filter: DeliveryFilter,
): Promise<DeliveryView[]> {
  const deliveries = await queryPlanned<Row>(
    em,
    sql`select d.id, d.event_id, e.type as event_type, e.post_id, d.status, d.error, d.next_attempt_at, d.created_at,
       (select json_agg(json_build_object(
          'number', a.number, 'created_at', a.created_at, 'duration_ms', a.duration_ms,
          'response_status', a.response_status, 'error', a.error))
        from (
          select * from delivery_attempts
          where delivery_id = d.id and workspace_id = d.workspace_id
          order by number desc limit ${sql.lit(shownAttempts)}) a) as attempts
     from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
     where d.endpoint_id = ${endpointId} and d.workspace_id = ${workspaceId} ${conditionsOf(filter)}
     order by d.created_at desc, d.id desc limit ${filter.limit}`,
  );
  return deliveries.map(present);
}

function conditionsOf({ id, status, eventType, after }: DeliveryFilter): RawBuilder<unknown> {
  const none = sql``;
  return sql`${id === undefined ? none : sql`and d.id = ${id}`}
    ${status === undefined ? none : sql`and d.status = ${status}`}
    ${eventType === undefined ? none : sql`and e.type = ${eventType}`}
    ${after === undefined ? none : sql`and (d.created_at, d.id) < (${after.createdAt}, ${after.id})`}`;
}

/** Loads one delivery. @throws AppError `not_found` */
export async function loadDelivery(
  em: Em,
  workspaceId: string,
  endpointId: string,
  id: string,
): Promise<DeliveryView> {
  const [delivery] = await loadDeliveries(em, workspaceId, endpointId, { limit: 1, id });
  if (!delivery) {
    throw new AppError('not_found', `There is no delivery "${id}" of this webhook endpoint.`);
  }

  return delivery;
}

function present(delivery: Row): DeliveryView {
  const attempts = delivery.attempts?.toReversed() ?? [];
  const last = attempts.at(-1);
  return {
    id: delivery.id,
    event_id: delivery.event_id,
    event_type: delivery.event_type,
    post_id: delivery.post_id,
    status: delivery.status,
    attempts: attempts.map((attempt) =>
      Object.assign(attempt, { created_at: new Date(attempt.created_at).toISOString() }),
    ),
    attempt_count: last?.number ?? 0, // Attempts are numbered without gaps.
    response_status: last?.response_status ?? null,
    error: delivery.error ?? last?.error ?? null,
    next_attempt_at: delivery.next_attempt_at?.toISOString() ?? null,
    created_at: delivery.created_at.toISOString(),
  };
}
