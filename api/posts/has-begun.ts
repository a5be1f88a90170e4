import type { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';

/** Whether the ledger has anything of the post's current run. */
export async function hasBegun(em: Em, { id, workspaceId, run }: Post): Promise<boolean> {
  const rows = await em.execute<unknown[]>(
    `select 1 from publish_attempts a join post_channels pc on pc.id = a.post_channel_id and pc.workspace_id = a.workspace_id
     where pc.post_id = ? and pc.workspace_id = ? and a.run = ? limit 1`,
    [id, workspaceId, run],
  );
  return rows.length > 0;
}
