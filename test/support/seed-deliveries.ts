import type { DeliveryStatus } from '../../db/entities/webhooks.ts';
import { newId } from '../../db/new-id.ts';
import { recordEvent } from '../../db/record-event.ts';
import type { EventType } from '../../domain/statuses.ts';
import type { Orm } from '../../db/orm.ts';
import type { Punctual } from './punctual.ts';

/**
 * Stores an event as the worker does.
 *
 * @param createdAt By default the database's current time.
 * @returns its delivery's id, if an endpoint subscribed.
 */
export async function storeEvent(
  { orm }: Pick<Punctual, 'orm'>,
  workspaceId: string,
  type: EventType,
  createdAt?: Date,
): Promise<string | undefined> {
  return orm.em.fork().transactional(async (em) => {
    const [id] = await recordEvent(em, { workspaceId, type, data: {} });
    if (id !== undefined && createdAt) {
      await em.execute(
        `with event as (
           update events set created_at = ? where id = (select event_id from deliveries where id = ?)
           returning id, created_at)
         update deliveries d set created_at = event.created_at,
           next_attempt_at = case when d.status = 'pending' then event.created_at end
         from event where d.event_id = event.id`,
        [createdAt, id],
      );
    }

    return id;
  });
}

/** @param row Delivery, number, time, duration in milliseconds, status, error. */
export const storeAttempt = (
  { orm }: Pick<Punctual, 'orm'>,
  workspaceId: string,
  row: unknown[],
): Promise<unknown> =>
  orm.em.fork().execute(
    `insert into delivery_attempts
       (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status, error)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
    [newId(), workspaceId, ...row],
  );

/** Stores a `post.failed` event, to which an endpoint must be subscribed, and a delivery of it with this status. */
export async function storeDelivery(
  punctual: Pick<Punctual, 'orm'>,
  workspaceId: string,
  status: DeliveryStatus = 'failed',
  at?: Date,
): Promise<string> {
  const id = await storeEvent(punctual, workspaceId, 'post.failed', at);
  if (id === undefined) {
    throw new Error('No endpoint subscribed.');
  }

  const numbers = { pending: [], delivered: [1], failed: [1, 2, 3, 4, 5, 6] }[status];
  for (const number of numbers) {
    const answer = status === 'failed' ? [503, 'http_error'] : [204, null];
    await storeAttempt(punctual, workspaceId, [id, number, at ?? new Date(), 30, ...answer]);
  }

  await punctual.orm.em
    .fork()
    .execute(
      `update deliveries set status = ?, next_attempt_at = case when ? = 'pending' then next_attempt_at end where id = ?`,
      [status, status, id],
    );
  return id;
}

/**
 * Stores many events with a delivery each, all due now and not yet synced to Temporal, as after an outage or a replay
 * of failed deliveries. Uses two statements for any count.
 */
export async function queueEvents(
  { orm }: Pick<Punctual, 'orm'>,
  { workspaceId, webhookId }: { readonly workspaceId: string; readonly webhookId: string },
  count: number,
): Promise<void> {
  const em = orm.em.fork();
  await em.transactional(async () => {
    await em.execute(
      `with event as (
         insert into events (id, workspace_id, type, body, created_at)
         select uuidv7(), ?, 'post.failed', '{"number":' || number || '}', now()
         from generate_series(1, ?) as number returning id, workspace_id)
       insert into deliveries (id, workspace_id, endpoint_id, event_id, created_at, next_attempt_at, synced_round)
       select uuidv7(), workspace_id, ?, id, now(), now(), 0 from event`,
      [workspaceId, count, webhookId],
    );
  });
}

/** The number of an endpoint's deliveries by status. */
export async function countDeliveries(
  { orm }: Punctual,
  { workspaceId, webhookId }: { readonly workspaceId: string; readonly webhookId: string },
): Promise<Readonly<Record<string, number>>> {
  const rows = await orm.em.fork().execute<{ status: string; count: number }[]>(
    `select status, count(*)::int as count from deliveries
     where workspace_id = ? and endpoint_id = ? group by status`,
    [workspaceId, webhookId],
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

/** Adds this many delivered deliveries to each endpoint of a workspace, a minute apart, with an attempt each. */
export async function storeMany(orm: Orm, workspaceId: string, count: number): Promise<void> {
  const em = orm.em.fork();
  await em.execute(
    `with new as (
       insert into events (id, workspace_id, type, body, created_at)
       select gen_random_uuid(), ?, 'post.failed', '{}', timestamptz '2026-01-01' + n * interval '1 minute'
       from generate_series(1, ?::int) n returning id, created_at)
     insert into deliveries (id, workspace_id, endpoint_id, event_id, status, created_at)
     select gen_random_uuid(), w.workspace_id, w.id, new.id, 'delivered', new.created_at
     from new, webhook_endpoints w where w.workspace_id = ?`,
    [workspaceId, count, workspaceId],
  );
  await em.execute(
    `insert into delivery_attempts (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status)
     select gen_random_uuid(), workspace_id, id, 1, created_at, 5, 204 from deliveries where workspace_id = ?`,
    [workspaceId],
  );
  await em.execute('analyze');
}
