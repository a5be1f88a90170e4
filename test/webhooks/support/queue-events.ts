import type { Punctual } from '../../support/punctual.ts';

/**
 * Stores so many events with a delivery each, all due now, that Temporal has yet to hear of: as after an outage, or
 * when its owner has failed deliveries replayed. In two statements, however many there are.
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

/** How many deliveries of an endpoint have come how far. */
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
