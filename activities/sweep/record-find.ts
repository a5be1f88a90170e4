import { ask } from '../../db/ask.ts';
import type { FindKind } from '../../db/entities/sweep-find.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import type { ActivityDeps } from '../deps.ts';

/** A row that was looked at: a post, or a delivery where that is what is looked for. */
export type Found = { readonly id: string; readonly workspace_id: string };

/** So many finds of one moment have a line of their own in the log. */
const maxLines = 20;

/**
 * Heals what was found and writes the finds down, in one transaction.
 *
 * @param heal @returns the ids of those that have not changed since they were looked at: with the others nothing was
 *   wrong.
 * @returns how many finds there were.
 */
export async function recordFinds<Row extends Found>(
  { orm, log, now }: ActivityDeps,
  kind: FindKind,
  rows: readonly Row[],
  heal: (em: Em, rows: readonly Row[]) => Promise<readonly { readonly id: string }[]>,
): Promise<number> {
  const finds = await orm.em.fork().transactional(async (em) => {
    const healed = new Set((await heal(em, rows)).map(({ id }) => id));
    const found = rows.filter(({ id }) => healed.has(id));
    if (found.length > 0) {
      await ask(
        em,
        `insert into sweep_finds (id, workspace_id, ${kind === 'delivery_gone' ? 'delivery_id' : 'post_id'}, kind, found_at)
         select id, workspace_id, found_id, $4, $5
         from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as finds (id, workspace_id, found_id)`,
        [
          found.map(() => newId()),
          found.map((row) => row.workspace_id),
          found.map(({ id }) => id),
          kind,
          now(),
        ],
      );
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

const sentences: Readonly<Record<FindKind, string>> = {
  workflow_gone: 'nothing in Temporal would have published this post: it is started anew',
  overdue: 'this post is overdue, and nothing says why',
  delivery_gone: 'nothing in Temporal would have delivered this event: it is started anew',
};
