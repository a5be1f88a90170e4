import type { DeliveryStatus } from '../../db/entities/delivery.ts';
import { newId } from '../../db/new-id.ts';
import { recordEvent } from '../../db/record-event.ts';
import type { EventType } from '../../domain/events.ts';
import type { Punctual } from './punctual.ts';

/** Stores an event as the worker does. @returns its delivery's id, if anybody subscribed. */
export async function storeEvent(
  { orm }: Punctual,
  workspaceId: string,
  type: EventType,
  createdAt = new Date(),
): Promise<string | undefined> {
  return orm.em.fork().transactional(async (em) => {
    const [id] = await recordEvent(em, { workspaceId, type, createdAt, data: {} });
    return id;
  });
}

/** @param row Delivery, number, time, duration in milliseconds, status, error. */
export const storeAttempt = (
  { orm }: Punctual,
  workspaceId: string,
  row: unknown[],
): Promise<unknown> =>
  orm.em.fork().execute(
    `insert into delivery_attempts
       (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status, error)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
    [newId(), workspaceId, ...row],
  );

/** A `post.failed` event, to which somebody must have subscribed, and a delivery of it that has come so far. */
export async function storeDelivery(
  punctual: Punctual,
  workspaceId: string,
  status: DeliveryStatus = 'failed',
  createdAt = new Date(),
): Promise<string> {
  const id = await storeEvent(punctual, workspaceId, 'post.failed', createdAt);
  if (id === undefined) {
    throw new Error('Nobody subscribed.');
  }

  const numbers = { pending: [], delivered: [1], failed: [1, 2, 3, 4, 5, 6] }[status];
  for (const number of numbers) {
    const answer = status === 'failed' ? [503, 'http_error'] : [204, null];
    await storeAttempt(punctual, workspaceId, [id, number, createdAt, 30, ...answer]);
  }

  await punctual.orm.em
    .fork()
    .execute(
      `update deliveries set status = ?, next_attempt_at = case when ? = 'pending' then next_attempt_at end where id = ?`,
      [status, status, id],
    );
  return id;
}
