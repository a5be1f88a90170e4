import type { FindKind } from '../../db/entities/sweep-find.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import type { ActivityDeps } from '../deps.ts';

export type Find = {
  readonly kind: FindKind;
  readonly workspaceId: string;
  readonly postId: string | null;
  readonly deliveryId: string | null;
};

/**
 * Heals what was found and writes the find down, in one transaction.
 *
 * @param heal @returns false when the row has changed since it was looked at: then nothing was wrong.
 * @returns whether it was a find.
 */
export async function recordFind(
  { orm, log, now }: ActivityDeps,
  find: Find,
  heal: (em: Em) => Promise<boolean>,
): Promise<boolean> {
  const { kind, workspaceId, postId, deliveryId } = find;
  const isFind = await orm.em.fork().transactional(async (em) => {
    if (!(await heal(em))) {
      return false;
    }

    await em.execute(
      `insert into sweep_finds (id, workspace_id, post_id, delivery_id, kind, found_at)
       values (?, ?, ?, ?, ?, ?)`,
      [newId(), workspaceId, postId, deliveryId, kind, now()],
    );
    return true;
  });
  if (isFind) {
    const row = postId === null ? { delivery: deliveryId } : { post: postId };
    log.warn({ ...row, workspace: workspaceId, find: kind }, sentences[kind]);
  }

  return isFind;
}

const sentences: Readonly<Record<FindKind, string>> = {
  workflow_gone: 'nothing in Temporal would have published this post: it is started anew',
  overdue: 'this post is overdue, and nothing says why',
  delivery_gone: 'nothing in Temporal would have delivered this event: it is started anew',
};

/** Long enough to look into what happened. In milliseconds. */
const keptMs = 30 * 24 * 3_600_000;

/** In one go, so that no statement runs long; what is left goes with the next sweeps. */
const deletedAtOnce = 1000;
const maxRounds = 10;

export async function forgetOldFinds({ orm, now }: ActivityDeps): Promise<void> {
  const before = new Date(now().getTime() - keptMs);
  for (let round = 0; round < maxRounds; round += 1) {
    const deleted = await orm.em.fork().execute<unknown[]>(
      `delete from sweep_finds where id in (
         select id from sweep_finds where found_at < ? order by found_at limit ?) returning id`,
      [before, deletedAtOnce],
    );
    if (deleted.length < deletedAtOnce) {
      return;
    }
  }
}
