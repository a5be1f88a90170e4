import { sql, type RawBuilder } from 'kysely';
import type { EventType } from '../domain/statuses.ts';
import type { DeliveryStatus } from './entities/webhooks.ts';
import type { Em } from './orm.ts';
import { queryPlanned } from './query.ts';

/** Attempts of a delivery that are shown, and kept at a replay. */
export const shownAttempts = 50;

export type DeliveryRow = {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly post_id: string | null;
  readonly status: DeliveryStatus;
  readonly error: string | null;
  readonly next_attempt_at: Date | null;
  readonly created_at: Date;
  /** Newest first, as in the index. PostgreSQL writes times inside JSON as strings. */
  readonly attempts:
    | readonly {
        readonly number: number;
        readonly created_at: string;
        readonly duration_ms: number;
        readonly response_status: number | null;
        readonly error: string | null;
      }[]
    | null;
};

export type DeliveryFilter = {
  readonly limit: number;
  readonly id?: string | undefined;
  readonly status?: DeliveryStatus | undefined;
  readonly eventType?: EventType | undefined;
  /** Only older deliveries than this one. */
  readonly after?: { readonly createdAt: Date; readonly id: string } | undefined;
};

/**
 * Selects an endpoint's deliveries with their newest attempts. One statement, because a second one could show an attempt
 * whose outcome the first did not see.
 */
export function selectDeliveries(
  em: Em,
  workspaceId: string,
  endpointId: string,
  { limit, id, status, eventType, after }: DeliveryFilter,
): Promise<DeliveryRow[]> {
  const none = sql``;
  return queryPlanned<DeliveryRow>(
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
     where d.endpoint_id = ${endpointId} and d.workspace_id = ${workspaceId}
       ${id === undefined ? none : sql`and d.id = ${id}`}
       ${status === undefined ? none : sql`and d.status = ${status}`}
       ${eventType === undefined ? none : sql`and e.type = ${eventType}`}
       ${after === undefined ? none : sql`and (d.created_at, d.id) < (${after.createdAt}, ${after.id})`}
     order by d.created_at desc, d.id desc limit ${limit}`,
  );
}

/** Deliveries of an endpoint to replay: one, or the failed and waiting ones since a time. */
export type Replayed = { readonly id: string } | { readonly since: Date };

/**
 * Starts a new round of attempts for up to `most` deliveries: ended ones first, then those that wait. Skips deliveries
 * with an attempt that is under way or due, so a repeated call starts nothing twice, and of many also test calls. The
 * caller holds the endpoint, as its deletion does. @returns how many began.
 */
export async function beginRounds(
  em: Em,
  workspaceId: string,
  endpointId: string,
  which: Replayed,
  most: number,
): Promise<number> {
  const own = sql`endpoint_id = ${endpointId}`;
  const ended =
    'id' in which
      ? sql`${own} and id = ${which.id} and status in ('delivered', 'failed')`
      : sql`${own} and created_at >= ${which.since} and status = 'failed' and not exists (
          select from events e where e.id = event_id and e.workspace_id = deliveries.workspace_id
            and e.type = 'webhook.test')`;
  const waiting = sql`${own} and ${'id' in which ? sql`id = ${which.id}` : sql`created_at >= ${which.since}`}
    and status = 'pending' and next_attempt_at > clock_timestamp()`;
  const begun = await beginOldest(em, workspaceId, ended, most);
  return begun + (await beginOldest(em, workspaceId, waiting, most - begun));
}

/** Oldest first, so that locks are taken in one order. Attempt numbers continue, and those not shown are deleted. */
async function beginOldest(
  em: Em,
  workspaceId: string,
  which: RawBuilder<unknown>,
  most: number,
): Promise<number> {
  const begun = await queryPlanned(
    em,
    sql`with chosen as materialized (
       select id from deliveries where workspace_id = ${workspaceId} and ${which}
       order by created_at, id limit ${most} for update),
     unshown as (
       delete from delivery_attempts a using chosen where a.delivery_id = chosen.id and a.workspace_id = ${workspaceId}
         and a.number <= (select max(number) - ${sql.lit(shownAttempts)} from delivery_attempts newest
           where newest.delivery_id = chosen.id and newest.workspace_id = a.workspace_id))
     update deliveries d set status = 'pending', error = null, round = d.round + 1, next_attempt_at = clock_timestamp(),
       attempts_before = (select coalesce(max(number), 0) from delivery_attempts a
         where a.delivery_id = d.id and a.workspace_id = d.workspace_id)
     from chosen where d.id = chosen.id and d.workspace_id = ${workspaceId} returning d.id`,
  );
  return begun.length;
}
