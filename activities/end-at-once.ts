import { sql } from 'kysely';
import { ask } from '../db/ask.ts';
import { presentPost, selectPost, type PostRow } from '../db/load-post-view.ts';
import { newId } from '../db/new-id.ts';
import { db, query } from '../db/query.ts';
import { eventBody, eventTime, eventWithDeliveries } from '../db/record-event.ts';
import {
  type EventType,
  finalEventType,
  isFinal,
  statusOfBegunPost,
} from '../domain/post-status.ts';
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

const now = eventTime(sql.ref('p.workspace_id'), sql.ref('p.id')).compile(db).sql;
const selectEnding = selectPost(`, p.run, p.revision, p.xmin::text as version, ${now} as now,
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
  const [row] = await ask<Row>(deps.orm.em.fork(), selectEnding, [postId, workspaceId]);
  if (row?.status !== 'publishing' || canceled || hasMovedOn(row, request)) {
    return null;
  }

  const view = presentPost(row, deps);
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
  const [written] = await query<{ posts: number; started: readonly string[] | null }>(
    deps.orm.em.fork(),
    sql`with post as (
        update posts set status = ${status}, updated_at = ${createdAt}
        where id = ${postId} and workspace_id = ${workspaceId} and xmin::text = ${row.version} returning id),
      ${eventWithDeliveries({
        event: {
          id: eventId,
          workspaceId,
          type,
          body: eventBody(eventId, { workspaceId, type, createdAt, data: { post } }),
          createdAt,
          postId,
          run: row.run,
        },
        onlyWith: sql.table('post'),
        endpointIds: (row.endpoints ?? [])
          .filter(({ events }) => events.includes(type))
          .map(({ id }) => id),
      })}
      select (select count(*)::int from post) as posts,
        (select json_agg(id order by id) from delivery where status = 'pending') as started`,
  );
  return written?.posts === 1 ? (written.started ?? []) : null;
}
