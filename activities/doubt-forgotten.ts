import type { Em } from '../db/orm.ts';
import { ask } from '../db/ask.ts';

/** What the steps after a restore add to the revisions of open posts: see docs/operations.md. */
const restoredBy = 1_000_000;

/**
 * Whether the database has forgotten that the post was claimed: revisions rise one by one, and fall by a restore only,
 * after which they are raised by far.
 */
export const isForgotten = (revision: number, claimed: number): boolean =>
  revision < claimed || revision >= claimed + restoredBy;

/**
 * Channels that have their post, as their workflow knows, and of which the database says that they have not: it was
 * restored from a backup, or failed over, and has forgotten. They are not sent again. What the ledger says of their parts
 * is in doubt as well, and settled with them. The caller holds the post's lock.
 *
 * @param published By their rows' ids; `all` where the database has forgotten that the post was claimed, and with it
 *   whatever was sent since.
 */
export async function doubtForgotten(
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
  published: readonly string[] | 'all',
): Promise<void> {
  if (published.length > 0) {
    await ask(
      em,
      `with channel as (
         update post_channels set status = 'unconfirmed', error_code = 'unconfirmed', retry_at = null,
           error = case when $3::uuid[] is null then 'The network may have' else 'The network has' end || ' taken this post. Then the service was restored from a backup, which does not know where the post is. Look at the account, then settle this channel.'
         where post_id = $1 and workspace_id = $2 and ($3::uuid[] is null or id = any($3::uuid[]))
           and (status in ('draft', 'scheduled', 'publishing', 'retrying') or $3::uuid[] is null and status = 'failed')
         returning id)
       update post_parts a set state = 'sending', sending_at = clock_timestamp(), updated_at = clock_timestamp()
       from channel where a.post_channel_id = channel.id and a.workspace_id = $2 and a.state in ('ready', 'refused')`,
      [postId, workspaceId, published === 'all' ? null : published],
    );
  }
}
