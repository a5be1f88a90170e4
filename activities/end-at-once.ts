import { ask } from '../db/ask.ts';
import { presentPost, selectPost, type PostRow } from '../db/load-post-view.ts';
import { newId } from '../db/new-id.ts';
import { eventBody, eventTime, stateOfNew } from '../db/record-event.ts';
import { finalEventType, type EventType } from '../domain/events.ts';
import { isFinal, statusOfBegunPost } from '../domain/post-status.ts';
import type { PostView } from '../domain/post-view.ts';
import type { ActivityDeps } from './deps.ts';
import { endsIn, hasMovedOn, type Finalized, type FinalizeRequest } from './post-end.ts';

type Endpoint = {
  readonly id: string;
  readonly events: readonly EventType[];
};
type Row = PostRow & {
  readonly run: number;
  readonly revision: number;
  readonly version: string;
  readonly now: string | Date;
  readonly endpoints: readonly Endpoint[] | null;
};

const sql =
  selectPost(`, p.run, p.revision, p.xmin::text as version, ${eventTime('p.id', 'p.workspace_id')} as now,
    (select json_agg(json_build_object('id', w.id, 'events', w.events) order by w.id)
     from webhook_endpoints w where w.workspace_id = p.workspace_id) as endpoints`);

/**
 * Ends a post of which every channel has ended by itself, as nearly all do, in two statements and without a lock in
 * between: one reads all that the end says, the other writes it if the post is still the version that was read (`xmin`).
 * Whatever changes a channel of a publishing post changes the post with it. Endpoints are as the second finds them.
 *
 * @returns null when it is not such a post, or somebody changed it meanwhile; nothing is written then.
 */
export async function endAtOnce(
  deps: ActivityDeps,
  request: FinalizeRequest,
): Promise<Finalized | null> {
  const { workspaceId, postId, canceled } = request;
  const [row] = await ask<Row>(deps.orm.em.fork(), sql, [postId, workspaceId]);
  if (row?.status !== 'publishing' || canceled || hasMovedOn(row, request)) {
    return null;
  }

  const view = presentPost(row, deps.publicUrl);
  const statuses = view.channels.map((channel) => channel.status);
  const type = finalEventType(statuses);
  if (type === null || !statuses.every(isFinal)) {
    return null;
  }

  const status = statusOfBegunPost(statuses) === 'published' ? 'published' : 'failed';
  const deliveryIds = await writeEnd(deps, request, { row, view, type, status });
  return deliveryIds && { status, deliveryIds, channels: endsIn(view) };
}

type End = {
  readonly row: Row;
  readonly view: PostView;
  readonly type: EventType;
  readonly status: 'published' | 'failed';
};

/** @returns the deliveries to start, or null when the post is another version by now. */
async function writeEnd(
  deps: ActivityDeps,
  { workspaceId, postId }: FinalizeRequest,
  { row, view, type, status }: End,
): Promise<readonly string[] | null> {
  const createdAt = new Date(row.now);
  const post: PostView = { ...view, status, updated_at: createdAt.toISOString() };
  const eventId = newId();
  const subscribed = (row.endpoints ?? []).filter(({ events }) => events.includes(type));
  const [written] = await ask<{ posts: number; started: readonly string[] | null }>(
    deps.orm.em.fork(),
    `with post as (
       update posts set status = $3, updated_at = $4
       where id = $1 and workspace_id = $2 and xmin::text = $5 returning id),
     event as (
       insert into events (id, workspace_id, type, body, post_id, run, created_at)
       select $6::uuid, $2, $7, $8, id, $9::int, $4 from post on conflict (post_id, run) do nothing returning id),
     endpoint as materialized (
       select id, disabled_at is not null as disabled from webhook_endpoints
       where workspace_id = $2 and id = any ($11::uuid[]) order by id for share),
     delivery as (
       insert into deliveries (id, workspace_id, endpoint_id, event_id, created_at, synced_round, status, next_attempt_at, error)
       select made.id, $2, endpoint.id, event.id, $4, 1, ${stateOfNew('$4')}
       from event, unnest($10::uuid[], $11::uuid[]) as made (id, endpoint_id)
       join endpoint on endpoint.id = made.endpoint_id
       returning id, status)
     select (select count(*)::int from post) as posts,
       (select json_agg(id order by id) from delivery where status = 'pending') as started`,
    [
      postId,
      workspaceId,
      status,
      createdAt,
      row.version,
      eventId,
      type,
      eventBody(eventId, { workspaceId, type, createdAt, data: { post } }),
      row.run,
      subscribed.map(() => newId()),
      subscribed.map(({ id }) => id),
    ],
  );
  return written?.posts === 1 ? (written.started ?? []) : null;
}
