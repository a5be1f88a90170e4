import type { Em } from '../db/orm.ts';

/**
 * A channel that is not final here was stopped: by a cancel, or because its activity ran out of time. Where a
 * request may have left and nobody has asked the network since, the outcome is unconfirmed.
 *
 * @param end What the others become.
 */
export async function endOpenChannels(
  em: Em,
  scope: { readonly workspaceId: string; readonly postId: string },
  end: 'draft' | 'scheduled' | 'failed',
): Promise<void> {
  const ids = [scope.postId, scope.workspaceId];
  const open = `post_id = ? and workspace_id = ? and status in ('scheduled', 'publishing', 'retrying')`;
  // First, so that no send of theirs begins between the two statements: see `markSending`.
  await em.execute(
    'select id from post_channels where post_id = ? and workspace_id = ? order by id for update',
    ids,
  );
  await em.execute(
    `update post_channels pc set status = 'unconfirmed', error_code = 'unconfirmed', retry_at = null,
       error = 'The network was asked to publish and its answer never came, so it may or may not have the post. Look at the account, then settle this channel.'
     where ${open} and exists (select 1 from publish_attempts a
       where a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id and a.state in ('sending', 'unknown'))`,
    ids,
  );
  await em.execute(
    end === 'failed'
      ? `update post_channels set status = ?, retry_at = null, error_code = coalesce(error_code, 'too_late'),
           error = 'The channel did not get the post within a day of its time, and is given up. Retry the post if it is still to go out.' where ${open}`
      : `update post_channels set status = ?, retry_at = null, error = null, error_code = null where ${open}`,
    [end, ...ids],
  );
}
