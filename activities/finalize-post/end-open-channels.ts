import { sql, type RawBuilder } from 'kysely';
import { isOpenChannel, retrying, unconfirmed, waiting } from '../../db/channel-status.ts';
import { hasOpenPart, hasOutPart } from '../../db/ledger/live-parts.ts';
import { doubtParts } from '../../db/ledger/marks.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';

type Scope = { readonly workspaceId: string; readonly postId: string };

/** Why channels that are not final end. `cancelled`: so did the post, and it was publishing until now or a draft already. */
export type Why = 'cancelled' | 'cancelled before' | 'scheduled anew' | 'out of time';

/**
 * What a cancel lets finish: a channel that was being sent and of which something is on the network or may be, and one
 * that waits to be looked for. What waits for a rate limit does so only when the cancel found it being sent. However
 * late it is: the next try says what became of it, and gives up what is missing.
 */
const finishes = (why: Why): RawBuilder<boolean> =>
  sql`(pc.status = 'publishing' and ${hasOutPart}
    or pc.status = 'retrying' and ${why === 'cancelled before' ? hasOutPart : hasOpenPart})`;

const noAnswer =
  'The network was asked to publish and its answer never came, so it may or may not have the post. Look at the account, then settle this channel.';
const tooLate =
  'The channel did not get the post within a day of its time, and is given up. Retry the post if it is still to go out.';
const interrupted =
  'The send was interrupted, and whether the network has all of it is not known yet. It is looked for.';

/**
 * A channel that is not final here was stopped: by a cancel, or because its activity ran out of time. Where a request
 * may have left and nobody looks for it any more, the outcome is unconfirmed; of a post that is scheduled anew it is
 * looked for when that is due.
 *
 * @returns whether channels of a cancelled post are left that it lets finish.
 */
export async function endOpenChannels(em: Em, scope: Scope, why: Why): Promise<boolean> {
  const ofPost = sql`pc.post_id = ${scope.postId} and pc.workspace_id = ${scope.workspaceId}`;
  const update = (set: RawBuilder<unknown>, where: RawBuilder<unknown>) =>
    query(em, sql`update post_channels pc set ${set} where ${ofPost} and ${where}`);
  // First, so that no send of theirs begins between the statements: see `markSending`.
  await query(em, sql`select id from post_channels pc where ${ofPost} order by id for update`);
  const isCancelled = why === 'cancelled' || why === 'cancelled before';
  const ends = isCancelled ? sql`${isOpenChannel} and not ${finishes(why)}` : isOpenChannel;
  if (why !== 'scheduled anew') {
    await update(unconfirmed(noAnswer), sql`${ends} and ${hasOpenPart}`);
  }

  if (why === 'out of time') {
    // The reason of its last try stays.
    await update(
      sql`status = 'failed', retry_at = null, error = ${tooLate}, error_code = coalesce(error_code, 'too_late')`,
      isOpenChannel,
    );
    return false;
  }

  await update(waiting(isCancelled ? 'draft' : 'scheduled'), ends);
  // No try is under way any more: what is left waits for the next one, and an edit may move it.
  await update(
    retrying({ code: 'network_unavailable', error: interrupted }),
    sql`pc.status = 'publishing'`,
  );
  const left = await query(
    em,
    sql`select 1 from post_channels pc where ${ofPost} and ${isOpenChannel} limit 1`,
  );
  return left.length > 0;
}

/** What the steps after a restore add to the revisions of open posts: see docs/backups.md. */
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
  { workspaceId, postId }: Scope,
  published: readonly string[] | 'all',
): Promise<void> {
  if (published.length === 0) {
    return;
  }

  const isAll = published === 'all';
  const error = `${isAll ? 'The network may have' : 'The network has'} taken this post. ${restored}`;
  const which = isAll
    ? sql`(${isOpenChannel} or pc.status in ('draft', 'failed'))`
    : sql`pc.id = any(${published}::uuid[]) and (${isOpenChannel} or pc.status = 'draft')`;
  await query(
    em,
    sql`with channel as (
        update post_channels pc set ${unconfirmed(error)}
        where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and ${which}
        returning id)
      ${doubtParts(workspaceId, sql`channel`)}`,
  );
}

const restored =
  'Then the service was restored from a backup, which does not know where the post is. Look at the account, then settle this channel.';
