import type { EventType } from '../domain/events.ts';
import { ask } from './ask.ts';
import { newId } from './new-id.ts';
import type { Em } from './orm.ts';

export type NewEvent = {
  readonly workspaceId: string;
  readonly type: EventType;
  readonly createdAt: Date;
  /** The specification's `data`. */
  readonly data: object;
  /** Set on a post's final event: there is one per post and run, however often this is called. */
  readonly final?: { readonly postId: string; readonly run: number };
  /** Set on an event about a channel. */
  readonly channelId?: string;
  /** No workflow is there to start its deliveries: they are left in the outbox, for the relay or the caller to tell of. */
  readonly byOutbox?: true;
};

/**
 * Stores an event once, as the bytes that every endpoint will get, with one delivery for each endpoint that
 * subscribed to it. Call it inside the transaction that makes the event true.
 *
 * @returns the ids of the deliveries to start; none when the same final event was stored before.
 */
export async function recordEvent(em: Em, event: NewEvent): Promise<string[]> {
  const id = newId();
  const body = eventBody(id, event);
  const endpoints = await ask<{ id: string }>(
    em,
    `with event as (
       insert into events (id, workspace_id, type, body, post_id, run, channel_id, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (post_id, run) do nothing returning type)
     select w.id from event join webhook_endpoints w on w.events @> to_jsonb(event.type)
     where w.workspace_id = $2 order by w.id`,
    [
      id,
      event.workspaceId,
      event.type,
      body,
      event.final?.postId ?? null,
      event.final?.run ?? null,
      event.channelId ?? null,
      event.createdAt,
    ],
  );
  const deliveryIds: string[] = [];
  for (const endpoint of endpoints) {
    const deliveryId = newId();
    await em.execute(
      `insert into deliveries (id, workspace_id, endpoint_id, event_id, status, next_attempt_at, created_at, synced_round)
       values (?, ?, ?, ?, 'pending', ?, ?, ?)`,
      [
        deliveryId,
        event.workspaceId,
        endpoint.id,
        id,
        event.createdAt,
        event.createdAt,
        event.byOutbox ? 0 : 1,
      ],
    );
    deliveryIds.push(deliveryId);
  }

  return deliveryIds;
}

/** The bytes of an event as every endpoint gets them (specification, Events). */
export const eventBody = (
  id: string,
  event: Pick<NewEvent, 'workspaceId' | 'type' | 'createdAt' | 'data'>,
): string =>
  JSON.stringify({
    id,
    type: event.type,
    created_at: event.createdAt.toISOString(),
    workspace_id: event.workspaceId,
    data: event.data,
  });
