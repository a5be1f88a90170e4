import type { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';

/** Whether the ledger has anything of the post's current run, or may yet: a channel that is being sent may be about to. */
export async function hasBegun(em: Em, { id, workspaceId, run }: Post): Promise<boolean> {
  const rows = await em.execute<unknown[]>(
    `select 1 from post_channels pc
     where pc.post_id = ? and pc.workspace_id = ? and (pc.status = 'publishing' or exists (
       select 1 from publish_attempts a
       where a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id and a.run = ?))
     limit 1`,
    [id, workspaceId, run],
  );
  return rows.length > 0;
}
