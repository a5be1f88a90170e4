import { sql } from 'kysely';
import type { FindKind } from '../../db/entities/sweep-find.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { ActivityDeps } from '../deps.ts';

/** A row that was scanned: a delivery for `delivery_gone`, otherwise a post. */
export type Found = { readonly id: string; readonly workspace_id: string };

/** So many finds of one moment have a line of their own in the log. */
const maxLines = 20;

/**
 * Repairs what was found and stores the finds, in one transaction.
 *
 * @param repair @returns the ids of those that have not changed since the scan: with the others nothing was wrong.
 * @returns how many finds there were.
 */
export async function recordFinds<Row extends Found>(
  { orm, log, now }: ActivityDeps,
  kind: FindKind,
  rows: readonly Row[],
  repair: (em: Em, rows: readonly Row[]) => Promise<readonly { readonly id: string }[]>,
): Promise<number> {
  const finds = await orm.em.fork().transactional(async (em) => {
    const repaired = new Set((await repair(em, rows)).map(({ id }) => id));
    const found = rows.filter(({ id }) => repaired.has(id));
    if (found.length > 0) {
      await insertFinds(em, kind, found, now());
    }

    return found;
  });
  for (const { id, workspace_id: workspace } of finds.slice(0, maxLines)) {
    const row = kind === 'delivery_gone' ? { delivery: id } : { post: id };
    log.warn({ ...row, workspace, find: kind }, sentences[kind]);
  }

  if (finds.length > maxLines) {
    log.warn({ find: kind, more: finds.length - maxLines }, 'and more of the same');
  }

  return finds.length;
}

async function insertFinds(
  em: Em,
  kind: FindKind,
  found: readonly Found[],
  at: Date,
): Promise<void> {
  const column = sql.ref(kind === 'delivery_gone' ? 'delivery_id' : 'post_id');
  const ids = found.map(() => newId());
  await query(
    em,
    sql`insert into sweep_finds (id, workspace_id, ${column}, kind, found_at)
      select id, workspace_id, found_id, ${kind}::text, ${at}::timestamptz
      from unnest(${ids}::uuid[], ${found.map((row) => row.workspace_id)}::uuid[], ${found.map(({ id }) => id)}::uuid[])
        as finds (id, workspace_id, found_id)`,
  );
}

const sentences: Readonly<Record<FindKind, string>> = {
  workflow_gone: 'nothing in Temporal would have published this post: it is started anew',
  overdue: 'this post is overdue, and nothing says why',
  delivery_gone: 'nothing in Temporal would have delivered this event: it is started anew',
};
