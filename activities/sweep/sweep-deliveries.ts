import { ask } from '../../db/ask.ts';
import type { Em } from '../../db/orm.ts';
import type { ActivityDeps } from '../deps.ts';
import { lookThrough, type LookedThrough, type Sweeping } from './look-through.ts';
import { recordFinds } from './record-find.ts';

/** An attempt has so long after its time, in milliseconds: receivers are slow, and deliveries wait for each other. */
const graceMs = 2 * 60_000;

/** How often the same delivery is looked at, in milliseconds. */
const restMs = 2 * 60_000;

type Row = { id: string; workspace_id: string; round: number };

/** Looks for events that nothing in Temporal would deliver. @param untilMs By `performance.now()`. */
export function sweepDeliveries(
  deps: ActivityDeps,
  sweeping: Sweeping,
  untilMs: number,
): Promise<LookedThrough> {
  return lookThrough<Row>({
    sweeping,
    untilMs,
    take: (limit) => takeDeliveries(deps, sweeping, limit),
    letGo: (rows) => letGo(deps, rows),
    list: (ids) => deps.workflows.listDeliveries(ids),
    ask: ({ id }) => deps.workflows.ofDelivery(id),
    judge: async () => undefined,
    heal: (rows) => recordFinds(deps, 'delivery_gone', rows, putBack),
  });
}

const dueAt = 'coalesce(d.next_attempt_at, d.created_at)';

/** Of all workspaces, in the order of `takePosts`. */
function takeDeliveries(
  { orm, now }: ActivityDeps,
  { beganAt, isAlarm }: Sweeping,
  limit: number,
): Promise<Row[]> {
  const at = (ms: number): Date => new Date(now().getTime() + ms);
  return orm.em.fork().execute<Row[]>(
    `with picked as materialized (
       select d.id from deliveries d
       where d.status = 'pending' and ${dueAt} < ? and d.synced_round >= d.round
         and (d.checked_at is null or d.checked_at < ?)
       order by ${isAlarm ? '' : 'd.checked_at nulls first, '}${dueAt} limit ? for update skip locked)
     update deliveries d set checked_at = ? from picked where d.id = picked.id
     returning d.id, d.workspace_id, d.round`,
    [at(-graceMs), isAlarm ? beganAt : at(-restMs), limit, at(0)],
  );
}

async function letGo({ orm }: ActivityDeps, rows: readonly Row[]): Promise<void> {
  await ask(
    orm.em.fork(),
    `update deliveries set checked_at = null where id = any($1::uuid[]) and workspace_id = any($2::uuid[])`,
    [rows.map(({ id }) => id), rows.map((row) => row.workspace_id)],
  );
}

/** Puts deliveries that are still pending back into the outbox, from where a relay starts their workflows. */
const putBack = (em: Em, rows: readonly Row[]): Promise<{ id: string }[]> =>
  ask(
    em,
    `with same as materialized (
       select d.id from unnest($1::uuid[], $2::uuid[], $3::int[]) as seen (id, workspace_id, round)
       join deliveries d on d.id = seen.id and d.workspace_id = seen.workspace_id
       where d.status = 'pending' and d.round = seen.round and d.synced_round >= d.round
       for update of d skip locked)
     update deliveries d set synced_round = d.round - 1 from same where d.id = same.id returning d.id`,
    [rows.map(({ id }) => id), rows.map((row) => row.workspace_id), rows.map(({ round }) => round)],
  );
