import type { Em } from '../../db/orm.ts';
import type { ActivityDeps } from '../deps.ts';
import { lookThrough, type LookedThrough } from './look-through.ts';
import { recordFind } from './record-find.ts';

/** An attempt has so long after its time, in milliseconds: receivers are slow, and deliveries wait for each other. */
const graceMs = 2 * 60_000;

/** How often the same delivery is looked at, in milliseconds. */
const restMs = 2 * 60_000;

type Row = { id: string; workspace_id: string; round: number };

export type DeliveryFinds = LookedThrough & { readonly deliveriesGone: number };

/** Looks for events that nothing in Temporal would deliver. */
export async function sweepDeliveries(deps: ActivityDeps): Promise<DeliveryFinds> {
  let deliveriesGone = 0;
  const looked = await lookThrough<Row>({
    take: (limit) => takeDeliveries(deps, limit),
    ask: ({ id }) => deps.workflows.ofDelivery(id),
    judge: async (row, state) => {
      if (state === 'gone' && (await startAnew(deps, row))) {
        deliveriesGone += 1;
      }
    },
  });
  return { ...looked, deliveriesGone };
}

const dueAt = 'coalesce(d.next_attempt_at, d.created_at)';

/** Of all workspaces, in the order of `takePosts`. */
function takeDeliveries({ orm, now }: ActivityDeps, limit: number): Promise<Row[]> {
  const at = (ms: number): Date => new Date(now().getTime() + ms);
  return orm.em.fork().execute<Row[]>(
    `with picked as materialized (
       select d.id from deliveries d
       where d.status = 'pending' and ${dueAt} < ? and d.synced_round = d.round
         and (d.checked_at is null or d.checked_at < ?)
       order by d.checked_at nulls first, ${dueAt} limit ? for update skip locked)
     update deliveries d set checked_at = ? from picked where d.id = picked.id
     returning d.id, d.workspace_id, d.round`,
    [at(-graceMs), at(-restMs), limit, at(0)],
  );
}

/** Puts a delivery that is still pending back into the outbox, from where a relay starts its workflow. */
function startAnew(deps: ActivityDeps, { id, workspace_id, round }: Row): Promise<boolean> {
  const find = {
    kind: 'delivery_gone' as const,
    workspaceId: workspace_id,
    postId: null,
    deliveryId: id,
  };
  return recordFind(deps, find, (em) => putBack(em, { id, workspace_id, round }));
}

async function putBack(em: Em, { id, workspace_id, round }: Row): Promise<boolean> {
  const rows = await em.execute<unknown[]>(
    `update deliveries set synced_round = round - 1
     where id = ? and workspace_id = ? and status = 'pending' and round = ? and synced_round = round returning id`,
    [id, workspace_id, round],
  );
  return rows.length === 1;
}
