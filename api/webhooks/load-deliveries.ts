import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import type { Em } from '../../db/orm.ts';

export type DeliveryView = {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly status: DeliveryStatus;
  readonly attempts: readonly {
    readonly number: number;
    readonly created_at: string;
    readonly duration_ms: number;
    readonly response_status: number | null;
    readonly error: string | null;
  }[];
  readonly response_status: number | null;
  readonly error: string | null;
  readonly next_attempt_at: string | null;
  readonly created_at: string;
};

type AttemptRow = {
  delivery_id: string;
  number: number;
  created_at: string | Date;
  duration_ms: number;
  response_status: number | null;
  error: string | null;
};

type DeliveryRow = {
  id: string;
  event_id: string;
  type: string;
  status: DeliveryStatus;
  next_attempt_at: string | Date | null;
  created_at: string | Date;
};

const iso = (at: string | Date): string => new Date(at).toISOString();

/** An endpoint's newest deliveries with all their attempts, newest first. Two queries, however many there are. */
export async function loadDeliveries(
  em: Em,
  workspaceId: string,
  endpointId: string,
  limit: number,
): Promise<DeliveryView[]> {
  const deliveries = await em.execute<DeliveryRow[]>(
    `select d.id, d.event_id, e.type, d.status, d.next_attempt_at, d.created_at
     from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
     where d.endpoint_id = ? and d.workspace_id = ? order by d.created_at desc, d.id desc limit ?`,
    [endpointId, workspaceId, limit],
  );
  const ids = deliveries.map(({ id }) => id);
  const attempts = ids.length
    ? await em.execute<AttemptRow[]>(
        `select delivery_id, number, created_at, duration_ms, response_status, error
         from delivery_attempts where delivery_id in (?) and workspace_id = ? order by number`,
        [ids, workspaceId],
      )
    : [];
  const byDelivery = Map.groupBy(attempts, (attempt) => attempt.delivery_id);
  return deliveries.map((delivery) => present(delivery, byDelivery.get(delivery.id) ?? []));
}

function present(delivery: DeliveryRow, attempts: readonly AttemptRow[]): DeliveryView {
  const last = attempts.at(-1);
  return {
    id: delivery.id,
    event_id: delivery.event_id,
    event_type: delivery.type,
    status: delivery.status,
    attempts: attempts.map(({ delivery_id: _, created_at: at, ...attempt }) => ({
      ...attempt,
      created_at: iso(at),
    })),
    response_status: last?.response_status ?? null,
    error: last?.error ?? null,
    next_attempt_at: delivery.next_attempt_at === null ? null : iso(delivery.next_attempt_at),
    created_at: iso(delivery.created_at),
  };
}
