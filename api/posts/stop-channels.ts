import type { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';

const hasRows = (which: string): string => `exists (select 1 from post_parts a
  where a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id and ${which})`;

const inDoubt = hasRows("a.state = 'sending'");
const isWhole = `${hasRows("a.state = 'sent'")} and not ${hasRows(`a.state in ('ready', 'refused') and a.run = (
  select max(run) from post_parts b where b.post_channel_id = a.post_channel_id and b.workspace_id = a.workspace_id)`)}`;

/**
 * Makes drafts of the channels of a post that becomes a draft; its row is locked. Each channel's row lock keeps this and
 * the start of a send apart. A channel whose last send is in doubt goes on being looked for, whatever it waited for: as a
 * draft it could be sent a second time. So does one that the network has whole while a try that knows nothing of it says
 * that it failed.
 */
export async function stopChannels(
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
): Promise<void> {
  const ids = [postId, workspaceId];
  await em.execute(
    `update post_channels pc set status = 'retrying', retry_at = clock_timestamp(), error_code = 'network_unavailable',
       error = 'The network was asked to publish, and whether it has the post is not known yet. It is looked for.'
     where post_id = ? and workspace_id = ? and status = 'scheduled' and (${inDoubt} or ${isWhole})`,
    ids,
  );
  await em.execute(
    `update post_channels pc set status = 'draft', retry_at = null, error = null, error_code = null
     where post_id = ? and workspace_id = ?
       and (status = 'scheduled' or status = 'retrying' and not (${inDoubt} or ${isWhole}))`,
    ids,
  );
}

/**
 * The same for a post that is a draft already, and says something else from now on: what a cancel lets finish would go
 * on with the old text. What is in doubt is looked for to its end, and what is live stays.
 */
export async function stopFinishing(
  em: Em,
  { id: postId, workspaceId, status }: Pick<Post, 'id' | 'workspaceId' | 'status'>,
): Promise<void> {
  if (status === 'draft') {
    await em.execute(
      `update post_channels pc set status = 'draft', retry_at = null, error = null, error_code = null
       where post_id = ? and workspace_id = ? and status in ('publishing', 'retrying')
         and not (${inDoubt} or ${isWhole})`,
      [postId, workspaceId],
    );
  }
}
