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
