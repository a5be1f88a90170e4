import { sql, type RawBuilder } from 'kysely';
import { everyEvent, type EventType } from '../domain/statuses.ts';
import { maxEndpoints } from '../domain/webhook-deliveries.ts';
import { loadPostView, type PostPresentation } from './load-post-view.ts';
import { newId } from './new-id.ts';
import type { Em } from './orm.ts';
import { query } from './query.ts';

export type NewEvent = {
  readonly workspaceId: string;
  readonly type: EventType;
  /** See docs/guides/webhooks.md. */
  readonly data: object;
  /** Set for a post's final event, which is stored once per post and run. */
  readonly final?: { readonly postId: string; readonly run: number };
  /** Set for any other event about a post. */
  readonly postId?: string;
  /** Set for an event about a channel. */
  readonly channelId?: string;
  /** Set if no workflow starts the deliveries: they go to the outbox, for the relay or the caller to sync. */
  readonly byOutbox?: true;
};

/**
 * Stores an event once, as the bytes that every endpoint gets, with a delivery for each subscribed endpoint. Call it in
 * the transaction of the change. The event's time is the database's, and never before an earlier event of the same
 * post.
 *
 * Locks the endpoints until the commit: one that is being deleted gets no delivery, and a caller that enables one finds
 * all events that it missed.
 *
 * @returns the ids of the deliveries to start; none if the same final event was stored before.
 */
export async function recordEvent(em: Em, event: NewEvent): Promise<string[]> {
  const { workspaceId, type, data, final, postId = final?.postId, channelId, byOutbox } = event;
  const [now] = await query<{ at: Date }>(
    em,
    sql`select greatest(clock_timestamp(), (
      select max(created_at) from events
      where post_id = ${postId ?? null}::uuid and workspace_id = ${workspaceId}::uuid)) as at`,
  );
  if (!now) {
    throw new Error('The database answered without its time.');
  }

  const id = newId();
  const createdAt = now.at;
  const started = await query<{ id: string }>(
    em,
    sql`with ${eventWithDeliveries({
      event: {
        id,
        workspaceId,
        type,
        body: eventBody(id, { workspaceId, type, data, createdAt }),
        createdAt,
        postId,
        run: final?.run,
        channelId,
      },
      byOutbox,
    })}
      select id from delivery where status = 'pending'`,
  );
  return started.map((delivery) => delivery.id);
}

/** A request that was sent. */
type SentTest = {
  readonly durationMs: number;
  readonly status: number | null;
  readonly error: string | null;
};

/**
 * Stores a test event for one endpoint, whatever it subscribes to, with its only attempt, and locks the endpoint.
 *
 * @returns the id of the delivery; undefined when the endpoint does not exist.
 */
export async function recordTest(
  em: Em,
  event: EventWithDeliveries['event'],
  endpointId: string,
  { durationMs, status, error }: SentTest,
): Promise<string | undefined> {
  const state = sql`${error === null ? 'delivered' : 'failed'}::text, null::timestamptz, null::text`;
  const [delivery] = await query<{ id: string }>(
    em,
    sql`with ${eventWithDeliveries({ event, endpointId, state })}
      insert into delivery_attempts
        (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status, error)
      select ${newId()}::uuid, ${event.workspaceId}::uuid, id, 1, ${event.createdAt}::timestamptz, ${durationMs}::int,
        ${status}::int, ${error}::text
      from delivery returning delivery_id as id`,
  );
  return delivery?.id;
}

type PostScope = { readonly workspaceId: string; readonly postId: string };

/** Stores an event of a post that goes on, with the post as it is now. The relay syncs its deliveries. */
export async function recordPostEvent(
  em: Em,
  { workspaceId, postId }: PostScope,
  type: 'post.scheduled' | 'post.cancelled' | 'post.retrying',
  shownBy: PostPresentation,
  more: object = {},
): Promise<void> {
  const post = await loadPostView(em, workspaceId, postId, shownBy);
  await recordEvent(em, { workspaceId, postId, type, data: { post, ...more }, byOutbox: true });
}

type Expression = RawBuilder<unknown>;

type EventWithDeliveries = {
  readonly event: {
    readonly id: string;
    readonly workspaceId: string;
    /** An event that endpoints subscribe to, or `webhook.test`. */
    readonly type: string;
    /** Result of `eventBody`. */
    readonly body: string;
    readonly createdAt: Date;
    readonly postId?: string | undefined;
    readonly run?: number | undefined;
    readonly channelId?: string | undefined;
  };
  /** Part of the statement that must have a row, or no event is stored: `sql.table('post')`. */
  readonly onlyWith?: Expression;
  /** The only endpoint that gets it. Default: all that subscribe to its type. */
  readonly endpointId?: string;
  readonly byOutbox?: true | undefined;
  /** SQL: status, next attempt and error of each delivery. */
  readonly state?: Expression;
};

/**
 * SQL: `event`, `endpoint` and `delivery` of a statement's `with`. Store an event and a delivery for each endpoint, and
 * lock the endpoints until the commit. Store nothing if the same final event exists. `delivery` has columns `id` and
 * `status`.
 */
export function eventWithDeliveries({
  event,
  onlyWith,
  endpointId,
  byOutbox,
  state = stateOfNew(event.createdAt),
}: EventWithDeliveries): RawBuilder<unknown> {
  const { id, workspaceId, type, body, createdAt, postId, run, channelId } = event;
  const receives =
    endpointId === undefined
      ? sql`(events @> to_jsonb(${type}::text) or events @> to_jsonb(${everyEvent}::text))`
      : sql`id = ${endpointId}`;
  const ids = Array.from({ length: endpointId === undefined ? maxEndpoints : 1 }, newId);
  return sql`event as (
      insert into events (id, workspace_id, type, body, post_id, run, channel_id, created_at)
      select ${id}::uuid, ${workspaceId}::uuid, ${type}::text, ${body}::text,
        ${postId ?? null}::uuid, ${run ?? null}::int, ${channelId ?? null}::uuid, ${createdAt}::timestamptz
      ${onlyWith ? sql`from ${onlyWith}` : sql``}
      on conflict (post_id, run) do nothing returning id),
    endpoint as materialized (
      select id, disabled_at is not null as disabled from webhook_endpoints
      where workspace_id = ${workspaceId} and ${receives} order by id for share),
    delivery as (
      insert into deliveries
        (id, workspace_id, endpoint_id, event_id, created_at, synced_round, status, next_attempt_at, error)
      select made.id, ${workspaceId}::uuid, endpoint.id, event.id, ${createdAt}::timestamptz,
        case when disabled then 1 else ${byOutbox ? 0 : 1}::int end, ${state}
      from event, (select *, row_number() over (order by id) as number from endpoint) endpoint
      join unnest(${ids}::uuid[]) with ordinality as made (id, number) using (number)
      returning id, status)`;
}

/**
 * Deliveries for a disabled endpoint are stored as failed, so that the owner sees them and can replay them.
 *
 * @param at The event's time.
 */
const stateOfNew = (at: Date): Expression =>
  sql`case when disabled then 'failed' else 'pending' end,
    case when disabled then null else ${at}::timestamptz end,
    case when disabled then 'endpoint_disabled' end`;

/** Bytes of an event as every endpoint gets them (docs/guides/webhooks.md, What arrives). */
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
