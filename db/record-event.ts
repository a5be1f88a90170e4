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
  readonly data: object;
  /** Set for a post's final event, which is stored once per post and run. */
  readonly final?: { readonly postId: string; readonly run: number };
  /** Set for any other event about a post. */
  readonly postId?: string;
  readonly channelId?: string;
  /** Set if no workflow starts the deliveries: they go to the outbox, for the relay to sync. */
  readonly byOutbox?: true;
};

/**
 * Stores an event once, as the bytes that every endpoint gets, with a delivery for each subscribed endpoint, in the
 * transaction of the change. Locks the endpoints until the commit: one that is being deleted gets no delivery, and a
 * caller that enables one finds all events that it missed.
 *
 * @returns the ids of the deliveries to start; none if the same final event was stored before.
 */
export async function recordEvent(em: Em, event: NewEvent): Promise<string[]> {
  const started = await query<{ id: string }>(
    em,
    sql`with ${eventWithDeliveries({ event })} ${startedDeliveries}`,
  );
  return started.map((delivery) => delivery.id);
}

/** SQL: selects the deliveries to start. */
export const startedDeliveries = sql`select id from delivery where status = 'pending'`;

type SentTest = {
  readonly durationMs: number;
  readonly status: number | null;
  readonly error: string | null;
};

/** Stores a test event that one endpoint got, with its only attempt. @returns undefined without the endpoint. */
export async function recordTest(
  em: Em,
  event: NewEvent,
  sent: Omit<SentEvent, 'state'>,
  { durationMs, status, error }: SentTest,
): Promise<string | undefined> {
  const state = sql`${error === null ? 'delivered' : 'failed'}::text, null::timestamptz, null::text`;
  const [delivery] = await query<{ id: string }>(
    em,
    sql`with ${eventWithDeliveries({ event, sent: { ...sent, state } })}
      insert into delivery_attempts
        (id, workspace_id, delivery_id, number, created_at, duration_ms, response_status, error)
      select ${newId()}::uuid, ${event.workspaceId}::uuid, id, 1, ${sent.createdAt}::timestamptz, ${durationMs}::int,
        ${status}::int, ${error}::text
      from delivery returning delivery_id as id`,
  );
  return delivery?.id;
}

/** Stores an event of a post that goes on, with the post as it is now. The relay syncs its deliveries. */
export async function recordPostEvent(
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
  type: 'post.scheduled' | 'post.cancelled' | 'post.retrying',
  shownBy: PostPresentation,
  more: object = {},
): Promise<void> {
  const post = await loadPostView(em, workspaceId, postId, shownBy);
  await recordEvent(em, { workspaceId, postId, type, data: { post, ...more }, byOutbox: true });
}

type Expression = RawBuilder<unknown>;

type EventWithDeliveries = {
  readonly event: NewEvent;
  /** Part of the statement that must have a row, or no event is stored: `sql.table('post')`. */
  readonly onlyWith?: Expression;
  /** The event as its only endpoint got it already, and SQL: status, next attempt and error of that delivery. */
  readonly sent?: SentEvent;
};

type SentEvent = {
  readonly id: string;
  readonly createdAt: Date;
  readonly body: string;
  readonly endpointId: string;
  readonly state: Expression;
};

/**
 * SQL: `moment`, `event`, `endpoint` and `delivery` (`id`, `status`) of a statement's `with`, as `recordEvent` stores
 * them. The event's time is the database's, and after each earlier event of the same post.
 */
export function eventWithDeliveries({
  event,
  onlyWith,
  sent,
}: EventWithDeliveries): RawBuilder<unknown> {
  const { workspaceId, type, final, postId = final?.postId ?? null, channelId, byOutbox } = event;
  const id = sent?.id ?? newId();
  const receives = sent
    ? sql`id = ${sent.endpointId}`
    : sql`(events @> to_jsonb(${type}::text) or events @> to_jsonb(${everyEvent}::text))`;
  const ids = Array.from({ length: sent ? 1 : maxEndpoints }, newId);
  const at = sent
    ? sql`${sent.createdAt}::timestamptz`
    : sql`date_trunc('milliseconds', greatest(clock_timestamp(), (
        select max(created_at) + interval '1 millisecond' from events where post_id = ${postId}::uuid and workspace_id = ${workspaceId}::uuid)))`;
  return sql`moment as materialized (select ${at} as at),
    event as (
      insert into events (id, workspace_id, type, body, post_id, run, channel_id, created_at)
      select ${id}::uuid, ${workspaceId}::uuid, ${type}::text, ${sent ? sql`${sent.body}::text` : bodyAtMoment(id, event)},
        ${postId}::uuid, ${final?.run ?? null}::int, ${channelId ?? null}::uuid, moment.at
      from moment ${onlyWith ? sql`, ${onlyWith}` : sql``}
      on conflict (post_id, run) do nothing returning id),
    endpoint as materialized (
      select id, disabled_at is not null as disabled from webhook_endpoints
      where workspace_id = ${workspaceId} and ${receives} order by id for share),
    delivery as (
      insert into deliveries
        (id, workspace_id, endpoint_id, event_id, created_at, synced_round, status, next_attempt_at, error)
      select made.id, ${workspaceId}::uuid, endpoint.id, event.id, moment.at,
        case when disabled then 1 else ${byOutbox ? 0 : 1}::int end, ${sent?.state ?? stateOfNew}
      from moment, event, (select *, row_number() over (order by id) as number from endpoint) endpoint
      join unnest(${ids}::uuid[]) with ordinality as made (id, number) using (number)
      returning id, status)`;
}

/** Deliveries for a disabled endpoint are stored as failed, so that the owner sees them and can replay them. */
const stateOfNew = sql`case when disabled then 'failed' else 'pending' end,
  case when disabled then null else moment.at end, case when disabled then 'endpoint_disabled' end`;

type EventBody = Pick<NewEvent, 'workspaceId' | 'type' | 'data'>;

/** Bytes of an event as every endpoint gets them (docs/guides/webhooks.md, What arrives). */
export const eventBody = (id: string, event: EventBody & { readonly createdAt: Date }): string =>
  bodyAround(id, event).join(event.createdAt.toISOString());

/** SQL: the same with the time of `moment`. */
function bodyAtMoment(id: string, event: EventBody): Expression {
  const [head, tail] = bodyAround(id, event);
  return sql`${head}::text || to_char(moment.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || ${tail}::text`;
}

/** The body before and after its time. */
const bodyAround = (id: string, { type, workspaceId, data }: EventBody): [string, string] => [
  `${JSON.stringify({ id, type }).slice(0, -1)},"created_at":"`,
  `",${JSON.stringify({ workspace_id: workspaceId, data }).slice(1)}`,
];
