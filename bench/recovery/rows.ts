import type { Em } from '../../db/orm.ts';

/** A synced version above the row's own. Once the sweep has found the row, it is lower. */
export const unfound = 2;

/** Stores posts that are due within ten minutes and marked as synced. */
export async function insertPosts(em: Em, workspaceId: string, posts: number): Promise<void> {
  await em.execute(
    `with new as (
       insert into posts (id, workspace_id, body, scheduled_at, status, synced_revision, created_at, updated_at)
       select uuidv7(), ?, 'Lost ' || n, now() + interval '8 minutes' + n * (interval '2 minutes' / ?), 'scheduled', ${unfound},
         now() - interval '1 day', now() - interval '1 day'
       from generate_series(1, ?) n returning id, workspace_id),
     numbered as (select *, row_number() over () as n from new),
     own as (select array_agg(id) as ids from channels where workspace_id = ?)
     insert into post_channels (id, workspace_id, post_id, channel_id, position, status)
     select uuidv7(), workspace_id, numbered.id, own.ids[1 + n % cardinality(own.ids)], 0, 'scheduled' from numbered, own`,
    [workspaceId, posts, posts, workspaceId],
  );
  await em.execute('analyze');
}

/**
 * Stores deliveries that are ten minutes overdue and wait for their endpoint.
 *
 * @returns their ids, the oldest first.
 */
export async function insertDeliveries(
  em: Em,
  workspaceId: string,
  deliveries: number,
): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `with endpoint as (
       insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
       values (uuidv7(), ?, 'http://127.0.0.1:9/hook', '["post.failed"]', 'x', 'x', now()) returning id),
     new as (
       insert into events (id, workspace_id, type, body, created_at)
       select uuidv7(), ?, 'post.failed', '{}', now() - interval '10 minutes' + n * interval '1 millisecond'
       from generate_series(1, ?) n returning *)
     insert into deliveries (id, workspace_id, endpoint_id, event_id, status, created_at, synced_round)
     select uuidv7(), new.workspace_id, endpoint.id, new.id, 'pending', new.created_at, ${unfound} from new, endpoint
     returning id, created_at`,
    [workspaceId, workspaceId, deliveries],
  );
  return rows.map(({ id }) => id);
}
