import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import type { Em } from '../../db/orm.ts';
import type { EventType } from '../../domain/post-status.ts';
import { AppError } from '../../domain/errors.ts';
import type { Cursor } from '../http/cursor.ts';
import type { DeliveryView } from './delivery-view.ts';

export type { DeliveryView } from './delivery-view.ts';

/** Of a delivery, and kept when it is replayed: an answer has a size, however often somebody replays. */
export const shownAttempts = 50;

/** Which deliveries of an endpoint: all conditions hold together. */
export type DeliveryFilter = {
  readonly limit: number;
  readonly id?: string | undefined;
  readonly status?: DeliveryStatus | undefined;
  readonly eventType?: EventType | undefined;
  /** Only what is older. */
  readonly after?: Cursor | undefined;
};

/** As PostgreSQL gives it: times inside of JSON are texts. */
type AttemptRow = {
  number: number;
  created_at: string;
  duration_ms: number;
  response_status: number | null;
  error: string | null;
};

type DeliveryRow = {
  id: string;
  event_id: string;
  type: string;
  status: DeliveryStatus;
  error: string | null;
  next_attempt_at: string | Date | null;
  created_at: string | Date;
  /** Newest first, as the index has them. */
  attempts: readonly AttemptRow[] | null;
};

const iso = (at: string | Date): string => new Date(at).toISOString();

/**
 * An endpoint's deliveries with their newest attempts, newest first. One statement, however many there are: of two, the
 * second would show an attempt whose outcome the first did not know yet.
 */
export async function loadDeliveries(
  em: Em,
  workspaceId: string,
  endpointId: string,
  filter: DeliveryFilter,
): Promise<DeliveryView[]> {
  const { conditions, values } = whereOf(filter);
  const deliveries = await em.execute<DeliveryRow[]>(
    `select d.id, d.event_id, e.type, d.status, d.error, d.next_attempt_at, d.created_at,
       (select json_agg(json_build_object(
          'number', a.number, 'created_at', a.created_at, 'duration_ms', a.duration_ms,
          'response_status', a.response_status, 'error', a.error))
        from (
          select * from delivery_attempts
          where delivery_id = d.id and workspace_id = d.workspace_id and not under_way
          order by number desc limit ${shownAttempts}) a) as attempts
     from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
     where d.endpoint_id = ? and d.workspace_id = ? ${conditions}
     order by d.created_at desc, d.id desc limit ?`,
    [endpointId, workspaceId, ...values, filter.limit],
  );
  return deliveries.map(present);
}

function whereOf({ id, status, eventType, after }: DeliveryFilter): {
  conditions: string;
  values: unknown[];
} {
  const parts = [
    ...(id === undefined ? [] : [{ sql: 'and d.id = ?', values: [id] }]),
    ...(status === undefined ? [] : [{ sql: 'and d.status = ?', values: [status] }]),
    ...(eventType === undefined ? [] : [{ sql: 'and e.type = ?', values: [eventType] }]),
    ...(after === undefined
      ? []
      : [{ sql: 'and (d.created_at, d.id) < (?, ?)', values: [after.createdAt, after.id] }]),
  ];
  return {
    conditions: parts.map(({ sql }) => sql).join(' '),
    values: parts.flatMap<unknown>(({ values }) => values),
  };
}

/** One delivery. @throws AppError `not_found` */
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

function present(delivery: DeliveryRow): DeliveryView {
  const attempts = delivery.attempts?.toReversed() ?? [];
  const last = attempts.at(-1);
  return {
    id: delivery.id,
    event_id: delivery.event_id,
    event_type: delivery.type,
    status: delivery.status,
    attempts: attempts.map((attempt) =>
      Object.assign(attempt, { created_at: iso(attempt.created_at) }),
    ),
    attempt_count: last?.number ?? 0, // They are numbered without gaps.
    response_status: last?.response_status ?? null,
    error: delivery.error ?? last?.error ?? null,
    next_attempt_at: delivery.next_attempt_at === null ? null : iso(delivery.next_attempt_at),
    created_at: iso(delivery.created_at),
  };
}
