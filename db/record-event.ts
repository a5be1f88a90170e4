import type { EventType } from '../domain/events.ts';
import { ask } from './ask.ts';
import { newId } from './new-id.ts';
import type { Em } from './orm.ts';

export type NewEvent = {
  readonly workspaceId: string;
  readonly type: EventType;
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
 * subscribed to it. Call it inside the transaction that makes the event true. Its time is the database's, and never
 * before that of an earlier event of the same post.
 *
 * The endpoints stay as they are until the commit: one that is being deleted gets no delivery, and who enables one finds
 * all that it missed.
 *
 * @returns the ids of the deliveries to start; none when the same final event was stored before.
 */
export async function recordEvent(em: Em, event: NewEvent): Promise<string[]> {
  const { workspaceId, type, final } = event;
  const [now] = await ask<{ at: string | Date; endpoints: readonly Endpoint[] | null }>(
    em,
    `with endpoint as materialized (
       select id, disabled_at is not null as disabled from webhook_endpoints
       where workspace_id = $1 and events @> to_jsonb($2::text) order by id for share)
     select ${eventTime('$3::uuid', '$1')} as at, (select json_agg(endpoint) from endpoint) as endpoints`,
    [workspaceId, type, final?.postId ?? null],
  );
  if (!now) {
    throw new Error('The database told no time.');
  }

  return insertEvent(em, event, new Date(now.at), now.endpoints ?? []);
}

type Endpoint = { readonly id: string; readonly disabled: boolean };

/** Part of a statement: the time of a new event. @param postId An expression in SQL, as is the workspace. */
export const eventTime = (postId: string, workspaceId: string): string =>
  `greatest(clock_timestamp(), (select max(created_at) from events where post_id = ${postId} and workspace_id = ${workspaceId}))`;

/**
 * Part of a statement: status, next attempt and error of a delivery to an endpoint that may be `disabled`. What such a
 * one misses has failed from the start, so that its owner sees it and can have it replayed.
 *
 * @param at The event's instant, as an expression in SQL.
 */
export const stateOfNew = (at: string): string =>
  `case when disabled then 'failed' else 'pending' end, case when disabled then null else ${at}::timestamptz end,
   case when disabled then 'endpoint_disabled' end`;

async function insertEvent(
  em: Em,
  event: NewEvent,
  createdAt: Date,
  endpoints: readonly Endpoint[],
): Promise<string[]> {
  const id = newId();
  const deliveries = await ask<{ id: string; status: string }>(
    em,
    `with event as (
       insert into events (id, workspace_id, type, body, post_id, run, channel_id, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (post_id, run) do nothing returning id)
     insert into deliveries (id, workspace_id, endpoint_id, event_id, created_at, synced_round, status, next_attempt_at, error)
     select made.id, $2, endpoint_id, event.id, $8, case when disabled then 1 else $9::int end, ${stateOfNew('$8')}
     from event, unnest($10::uuid[], $11::uuid[], $12::boolean[]) as made (id, endpoint_id, disabled)
     returning id, status`,
    [
      id,
      event.workspaceId,
      event.type,
      eventBody(id, { ...event, createdAt }),
      event.final?.postId ?? null,
      event.final?.run ?? null,
      event.channelId ?? null,
      createdAt,
      event.byOutbox ? 0 : 1,
      endpoints.map(() => newId()),
      endpoints.map((endpoint) => endpoint.id),
      endpoints.map(({ disabled }) => disabled),
    ],
  );
  return deliveries.filter(({ status }) => status === 'pending').map((delivery) => delivery.id);
}

/** The bytes of an event as every endpoint gets them (specification, Events). */
export const eventBody = (
  id: string,
  event: Pick<NewEvent, 'workspaceId' | 'type' | 'data'> & { readonly createdAt: Date },
): string =>
  JSON.stringify({
    id,
    type: event.type,
    created_at: event.createdAt.toISOString(),
    workspace_id: event.workspaceId,
    data: event.data,
  });
