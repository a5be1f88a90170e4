import { sql, type RawBuilder } from 'kysely';
import {
  isOpenChannel,
  retryingValues,
  unconfirmedValues,
  waitingValues,
} from '../db/channel-status.ts';
import { hasOpenPart, hasPossiblyLivePart } from '../db/ledger/parts.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { markDatabaseOlder, restoredDatabase } from '../db/restore-counter.ts';
import type { ChannelErrorCode } from '../domain/channel-error.ts';
import {
  endedOutcome,
  finalEventType,
  isFinal,
  statusOfBegunPost,
  type ShownChannelStatus,
  type EndedOutcome,
  type EventType,
} from '../domain/statuses.ts';
import type { PostView } from '../domain/post-view.ts';

export type FinalizeRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** The highest revision that the workflow received. Later revisions are ignored. */
  readonly revision: number;
  /** Whether a cancel stopped it. Channels that are not final then become drafts instead of failures. */
  readonly canceled: boolean;
  /** The post's revision at the workflow's claim. */
  readonly claimed: number;
  /** Ids of the rows of channels that the workflow published. */
  readonly published?: readonly string[];
};

export type Finalized = {
  /** `publishing`: a signal since the claim was wrong, and publishing continues. */
  readonly status: 'published' | 'failed' | 'draft' | 'gone' | 'publishing';
  /** Deliveries of final events to start. */
  readonly deliveryIds: readonly string[];
  /** Set if a channel of a cancelled post has to finish: the workflow claims the post again. */
  readonly unfinished?: true;
  /** How a published or failed post ended. */
  readonly outcome?: EndedOutcome;
  /** Result of each channel, for the Temporal UI; missing if this publishing was not the last. */
  readonly channels?: readonly ChannelEnd[];
};

type ChannelEnd = {
  readonly channelId: string;
  readonly network: string;
  readonly handle: string;
  readonly status: ShownChannelStatus;
  readonly code: ChannelErrorCode | null;
};

/**
 * Whether the post was scheduled for another time or is published again, so this finalize must not end it. A cancel
 * covers every revision that the workflow received.
 */
export const isSuperseded = (
  { status, revision }: { readonly status: string; readonly revision: number },
  { canceled, revision: signalled, claimed }: FinalizeRequest,
): boolean =>
  (status === 'scheduled' && (!canceled || revision > signalled)) ||
  (status === 'publishing' && revision > (canceled ? signalled : claimed));

export type PostEnd = { readonly type: EventType; readonly status: 'published' | 'failed' };

/** How a post ends, from its channels; null while one of them is not final. */
export function finalStatusOf({ channels }: PostView): PostEnd | null {
  const statuses = channels.map(({ status }) => status);
  const type = finalEventType(statuses);
  return type === null || !statuses.every(isFinal)
    ? null
    : { type, status: statusOfBegunPost(statuses) === 'published' ? 'published' : 'failed' };
}

export const channelEndsOf = ({ channels }: PostView): ChannelEnd[] =>
  channels.map(({ channel_id: channelId, platform: network, handle, status, error_code: code }) => {
    return { channelId, network, handle, status, code };
  });

/** How a post ended, as returned to its workflow. */
export const endOfPost = (view: PostView): Required<Pick<Finalized, 'outcome' | 'channels'>> => {
  const channels = channelEndsOf(view);
  return { outcome: endedOutcome(channels.map(({ status }) => status)), channels };
};

type Scope = { readonly workspaceId: string; readonly postId: string };

/**
 * Reason to end channels that are not final. `cancelled`: the post was publishing until now. `cancelled before`: the
 * post was a draft already.
 */
export type Why = 'cancelled' | 'cancelled before' | 'scheduled anew' | 'out of time';

/**
 * SQL: channels that finish despite a cancel: a channel that was being sent and has a live or open part, and one that
 * waits for a reconcile. A channel that waits for a rate limit finishes only if it was being sent at the cancel. There
 * is no time limit: the next attempt reconciles, and gives up on the missing parts.
 */
const finishes = (why: Why): RawBuilder<boolean> =>
  sql`(pc.status = 'publishing' and ${hasPossiblyLivePart}
    or pc.status = 'retrying' and ${why === 'cancelled before' ? hasPossiblyLivePart : hasOpenPart})`;

const noAnswerText =
  'The network was asked to publish but did not respond, so it may or may not have the post. Check the account, then settle this channel.';
const tooLate =
  'The post was not published on this channel within a day of its time. Retry the post to publish it now.';
const interrupted =
  'Publishing was interrupted. The next attempt checks which parts of the post the network has.';

/**
 * Ends the channels that are not final, after a cancel or a timeout of their activity. A channel that ends with an open
 * part becomes unconfirmed. If the post was scheduled again, the part is reconciled at the new time instead.
 *
 * @returns whether a cancelled post has channels left that have to finish.
 */
export async function endOpenChannels(em: Em, scope: Scope, why: Why): Promise<boolean> {
  const ofPost = sql`pc.post_id = ${scope.postId} and pc.workspace_id = ${scope.workspaceId}`;
  const update = (set: RawBuilder<unknown>, where: RawBuilder<unknown>) =>
    query(em, sql`update post_channels pc set ${set} where ${ofPost} and ${where}`);
  // Lock first, so that no send begins between the statements: see `markSending`.
  await query(em, sql`select id from post_channels pc where ${ofPost} order by id for update`);
  const isCancelled = why === 'cancelled' || why === 'cancelled before';
  const ends = isCancelled ? sql`${isOpenChannel} and not ${finishes(why)}` : isOpenChannel;
  if (why !== 'scheduled anew') {
    await update(unconfirmedValues(noAnswerText), sql`${ends} and ${hasOpenPart}`);
  }

  if (why === 'out of time') {
    // Keeps the error code of the last attempt.
    await update(
      sql`status = 'failed', retry_at = null, error = ${tooLate}, error_code = coalesce(error_code, 'too_late')`,
      isOpenChannel,
    );
    return false;
  }

  await update(waitingValues(isCancelled ? 'draft' : 'scheduled'), ends);
  // No attempt is under way: the remaining channels wait for the next one, and an edit may move it.
  await update(
    retryingValues({ code: 'network_unavailable', error: interrupted }),
    sql`pc.status = 'publishing'`,
  );
  const left = await query(
    em,
    sql`select 1 from post_channels pc where ${ofPost} and ${isOpenChannel} limit 1`,
  );
  return left.length > 0;
}

/**
 * Checks that the database has the results of the channels that the workflow published: after a failover it may lack
 * them, and would have them published again. A settlement says otherwise only on purpose.
 *
 * @param published Ids of the channels' rows.
 * @throws Error if the database is older.
 */
export async function assertHasResults(
  em: Em,
  { workspaceId, postId }: Scope,
  published: readonly string[],
): Promise<void> {
  if (published.length === 0) {
    return;
  }

  const [lost] = await query(
    em,
    sql<{ now: Date }>`select now() as now from post_channels pc
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and pc.id = any(${published}::uuid[])
        and ${isOpenChannel} and pc.settled_at is null limit 1`,
  );
  if (lost) {
    await markDatabaseOlder(em, lost.now);
    throw new Error(`The post ${postId} was published on a channel. ${restoredDatabase}`);
  }
}
