import type { Em } from '../db/orm.ts';

/** Why channels that are not final end. `cancelled`: so did the post, and it was publishing until now or a draft already. */
export type Why = 'cancelled' | 'cancelled before' | 'scheduled anew' | 'out of time';

const open = `post_id = ? and workspace_id = ? and status in ('scheduled', 'publishing', 'retrying')`;

const ledgerHas = (what: string): string => `exists (select 1 from post_parts a
  where a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id and ${what})`;
const inDoubt = `a.state = 'sending'`;

/**
 * What a cancel lets finish: a channel that was being sent and of which something is on the network or may be, and one
 * that waits to be looked for. What waits for a rate limit does so only when the cancel found it being sent. However
 * late it is: the next try says what became of it, and gives up what is missing.
 */
const finishing = (why: Why): string => {
  const isOut = `(a.state = 'sent' or ${inDoubt})`;
  const goesOn = why === 'cancelled before' ? isOut : inDoubt;
  return `(status = 'publishing' and ${ledgerHas(isOut)} or status = 'retrying' and ${ledgerHas(goesOn)})`;
};

/**
 * A channel that is not final here was stopped: by a cancel, or because its activity ran out of time. Where a request
 * may have left and nobody looks for it any more, the outcome is unconfirmed; of a post that is scheduled anew it is
 * looked for when that is due.
 *
 * @returns whether channels of a cancelled post are left that it lets finish.
 */
export async function endOpenChannels(
  em: Em,
  scope: { readonly workspaceId: string; readonly postId: string },
  why: Why,
): Promise<boolean> {
  const ids = [scope.postId, scope.workspaceId];
  // First, so that no send of theirs begins between the statements: see `markSending`.
  await em.execute(
    'select id from post_channels where post_id = ? and workspace_id = ? order by id for update',
    ids,
  );
  const isCancelled = why === 'cancelled' || why === 'cancelled before';
  const ended = isCancelled ? `${open} and not ${finishing(why)}` : open;
  if (why !== 'scheduled anew') {
    await em.execute(
      `update post_channels pc set status = 'unconfirmed', error_code = 'unconfirmed', retry_at = null,
         error = 'The network was asked to publish and its answer never came, so it may or may not have the post. Look at the account, then settle this channel.'
       where ${ended} and ${ledgerHas(inDoubt)}`,
      ids,
    );
  }

  if (why === 'out of time') {
    await em.execute(
      `update post_channels set status = 'failed', retry_at = null, error_code = coalesce(error_code, 'too_late'),
         error = 'The channel did not get the post within a day of its time, and is given up. Retry the post if it is still to go out.' where ${open}`,
      ids,
    );
    return false;
  }

  await em.execute(
    `update post_channels pc set status = ?, retry_at = null, error = null, error_code = null where ${ended}`,
    [isCancelled ? 'draft' : 'scheduled', ...ids],
  );
  // No try is under way any more: what is left waits for the next one, and an edit may move it.
  await em.execute(
    `update post_channels set status = 'retrying', retry_at = clock_timestamp(), error_code = 'network_unavailable',
       error = 'The send was interrupted, and whether the network has all of it is not known yet. It is looked for.'
     where post_id = ? and workspace_id = ? and status = 'publishing'`,
    ids,
  );
  const left = await em.execute<unknown[]>(
    `select 1 from post_channels pc where ${open} limit 1`,
    ids,
  );
  return left.length > 0;
}
