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
  const endpoints = await ask<Endpoint>(
    em,
    `with event as (
       insert into events (id, workspace_id, type, body, post_id, run, channel_id, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (post_id, run) do nothing returning type)
     select w.id, w.disabled_at is not null as disabled
     from event join webhook_endpoints w on w.events @> to_jsonb(event.type)
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
  return endpoints.length === 0 ? [] : addDeliveries(em, event, id, endpoints);
}

type Endpoint = { id: string; disabled: boolean };

/**
 * Part of a statement: status, next attempt and error of a delivery to an endpoint that may be `disabled`. What such a
 * one misses has failed from the start, so that its owner sees it and can have it replayed.
 *
 * @param at The event's instant, as an expression in SQL.
 */
export const stateOfNew = (at: string): string =>
  `case when disabled then 'failed' else 'pending' end, case when disabled then null else ${at}::timestamptz end,
   case when disabled then 'endpoint_disabled' end`;

async function addDeliveries(
  em: Em,
  { workspaceId, createdAt, byOutbox }: NewEvent,
  eventId: string,
  endpoints: readonly Endpoint[],
): Promise<string[]> {
  const deliveries = endpoints.map((endpoint) => ({ ...endpoint, deliveryId: newId() }));
  await ask(
    em,
    `insert into deliveries (id, workspace_id, endpoint_id, event_id, created_at, synced_round, status, next_attempt_at, error)
     select id, $1, endpoint_id, $2, $3, case when disabled then 1 else $4::int end,
       ${stateOfNew('$3')}
     from unnest($5::uuid[], $6::uuid[], $7::boolean[]) as delivery (id, endpoint_id, disabled)`,
    [
      workspaceId,
      eventId,
      createdAt,
      byOutbox ? 0 : 1,
      deliveries.map(({ deliveryId }) => deliveryId),
      deliveries.map(({ id }) => id),
      deliveries.map(({ disabled }) => disabled),
    ],
  );
  return deliveries.filter(({ disabled }) => !disabled).map(({ deliveryId }) => deliveryId);
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
