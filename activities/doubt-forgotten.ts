import type { Em } from '../db/orm.ts';
import { ask } from '../db/ask.ts';

/**
 * Channels that have their post, as their workflow knows, and of which the database says that they have not: it was
 * restored from a backup, or failed over, and has forgotten. They are not sent again. The caller holds the post's lock.
 *
 * @param published By their rows' ids.
 */
export async function doubtForgotten(
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
  published: readonly string[],
): Promise<void> {
  if (published.length > 0) {
    await ask(
      em,
      `update post_channels set status = 'unconfirmed', error_code = 'unconfirmed', retry_at = null,
         error = 'The network has taken this post. Then the service was restored from a backup, which does not know where the post is. Look at the account, then settle this channel.'
       where post_id = $1 and workspace_id = $2 and id = any($3::uuid[])
         and status in ('draft', 'scheduled', 'publishing', 'retrying')`,
      [postId, workspaceId, published],
    );
  }
}
