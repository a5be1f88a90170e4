import { sql } from 'kysely';
import type { FindKind } from '../../db/entities/sweep-find.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { ActivityDeps } from '../deps.ts';

/** A row that was scanned: a delivery for `delivery_gone`, otherwise a post. */
export type FoundRow = { readonly id: string; readonly workspace_id: string };

/** Log at most this many finds of one batch on lines of their own. */
const maxLines = 20;

/**
 * Repairs the rows and stores the finds, in one transaction.
 *
 * @param repair @returns the ids of rows unchanged since the scan; the others were not broken.
 * @returns the number of finds.
 */
export async function recordSweepFinds<Row extends FoundRow>(
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
    log.warn({ find: kind, more: finds.length - maxLines }, 'further finds of this kind');
  }

  return finds.length;
}

async function insertFinds(
  em: Em,
  kind: FindKind,
  found: readonly FoundRow[],
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
  workflow_gone: 'the workflow of this post was lost, it is restarted',
  overdue: 'overdue post without a known reason',
  delivery_gone: 'the workflow of this delivery was lost, it is restarted',
};
