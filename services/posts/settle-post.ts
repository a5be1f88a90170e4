import { sql } from 'kysely';
import { recordAudit } from '../../db/audit.ts';
import { isNotWithheld, type Settled, settleChannel } from '../../db/channel-status.ts';
import { lockClaims, type OfAccount } from '../../db/ledger/entries.ts';
import {
  closeAsRefused,
  closeAsSent,
  lockLedgerEntries,
  reopenSettled,
  settledUrls,
  type FoundPost,
  type LedgerView,
} from '../../db/ledger/outcomes.ts';
import type { Em } from '../../db/orm.ts';
import { isEndedPost } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import { sumMetrics } from '../../db/sum-metrics.ts';
import { refinalizePost, finalizeIfPublished } from '../../db/refinalize-post.ts';
import type { ChannelErrorCode } from '../../domain/channel-error.ts';
import { AppError, channelDetail } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import type { ChannelStatus } from '../../domain/statuses.ts';
import type { DeliveryToSync } from '../../domain/to-sync.ts';
import { longestAppearanceMs } from '../../networks/content-rules.ts';
import type { PostChange, PostScope } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { assertFree, foundAt, readUrl, type KnowsPages, type PageOwner } from './found-post.ts';
import { lockPost } from './read-posts.ts';

/** The finding of a person who checked the account. */
type Settlement = {
  readonly channelId: string;
  /** URL of the post; null when it is not there. */
  readonly url: string | null;
};

/** The channel to settle. */
type Channel = {
  readonly id: string;
  readonly status: ChannelStatus;
  readonly url: string | null;
  readonly error_code: ChannelErrorCode | null;
  /** Time at which it was settled before. */
  readonly settled_at: Date | null;
  /** Its live parts are removed, or are being removed. */
  readonly is_withheld: boolean;
} & PageOwner;

/** Time in which a settlement can be corrected, in milliseconds. */
const correctableMs = 24 * 60 * 60_000;

/**
 * Resolves an unconfirmed channel by the finding of a person. An ended post gets a new final event; a cancelled post
 * that is now live on every channel ends as published; any other post uses the result when it ends. Safe to repeat
 * with the same finding; another one corrects the settlement.
 *
 * @returns the deliveries of the new final event, to sync with Temporal.
 * @throws AppError `invalid_request`, `not_found`, `invalid_channel_ids`, `nothing_to_settle` or
 * `settle_too_early`.
 */
export async function settlePost(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'publicUrl' | 'rules'> & KnowsPages,
  change: PostChange,
  { channelId, url: given }: Settlement,
): Promise<DeliveryToSync[]> {
  const { workspaceId, postId } = change;
  const scope = { workspaceId, postId };
  const url = given === null ? null : readUrl(given);
  const now = deps.now();
  const started = await deps.orm.em.fork().transactional(async (em) => {
    const post = await lockPost(em, change);
    const channel = await lockChannel(em, scope, channelId);
    const of = { workspaceId, channelId, postChannelId: channel.id };
    if (channel.status !== 'unconfirmed' && (await isSettledSo(em, of, channel, url))) {
      return [];
    }

    if (url !== null) {
      await lockClaims(em, channelId); // Before the ledger.
    }

    if (channel.status !== 'unconfirmed') {
      await reopen(em, of, channel, now);
    }

    const ledger = await lockLedgerEntries(em, of);
    const found = url === null ? null : foundAt(deps.networks, channel, url, ledger);
    if (found !== null) {
      await assertFree(em, of, found);
    }

    const appearsWithinMs =
      deps.rules[channel.platform]?.appearsWithinMs ?? longestAppearanceMs(deps.rules);
    const known = { now, appearsWithinMs };
    const outcome = await closeParts(em, of, ledger, found, known);
    await settleChannel(em, workspaceId, channel.id, outcome, now);
    await updatePost(em, scope, now);
    await sumMetrics(em, workspaceId, [postId]);
    const hasEnded = post.status === 'failed' || post.status === 'published';
    const end = hasEnded ? refinalizePost : finalizeIfPublished;
    const deliveryIds = await end(em, scope, { ...deps, now });
    await putInOutbox(em, scope);
    await recordAudit(em, change, 'post.settled', postId);
    return deliveryIds;
  });
  return started.map((deliveryId) => ({ workspaceId, deliveryId, round: 1 }));
}

async function lockChannel(
  em: Em,
  { workspaceId, postId }: PostScope,
  channelId: string,
): Promise<Channel> {
  const [channel] = isId(channelId)
    ? await query(
        em,
        sql<Channel>`
          select pc.id, pc.status, pc.url, pc.error_code, pc.settled_at, not ${isNotWithheld} as is_withheld,
            c.platform, c.base_url as "baseUrl", c.remote_id as "remoteId", c.handle, c.settings
          from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
          where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and pc.channel_id = ${channelId}
          for update of pc`,
      )
    : [];
  if (!channel) {
    const message = `This post has no channel "${channelId}".`;
    const details = [channelDetail('/channel_id', message, channelId)];
    throw new AppError('invalid_channel_ids', message, { details });
  }

  return channel;
}

/** Whether it was settled with the same finding, so that a client that lost the response can repeat the call. */
async function isSettledSo(
  em: Em,
  of: OfAccount,
  channel: Channel,
  url: string | null,
): Promise<boolean> {
  if (channel.settled_at === null) {
    return false;
  }

  const urls = await settledUrls(em, of, channel.settled_at);
  return url === null
    ? channel.error_code === 'not_published' && urls.length === 0
    : channel.url === url || urls.includes(url);
}

/**
 * Reopens the parts of a settled channel, so that its settlement can be corrected.
 *
 * @throws AppError `nothing_to_settle` when a person did not settle it, or too much has happened since.
 */
async function reopen(em: Em, of: OfAccount, channel: Channel, now: Date): Promise<void> {
  const { settled_at: settledAt, status, error_code: code, is_withheld: isWithheld } = channel;
  const what = status === 'draft' ? 'a draft' : status;
  if (settledAt === null) {
    const message = `The channel is ${what}; only an unconfirmed one can be settled.`;
    throw new AppError('nothing_to_settle', message);
  }

  const isSettled = status === 'published' || code === 'not_published';
  const why =
    now.getTime() - settledAt.getTime() > correctableMs
      ? 'It was settled more than a day ago'
      : isSettled && !isWithheld && (await reopenSettled(em, of, settledAt))
        ? null
        : 'It was sent again or unpublished since it was settled';
  if (why !== null) {
    const message = `The channel is ${what}. ${why}, so the settlement cannot be corrected.`;
    throw new AppError('nothing_to_settle', message);
  }
}

/** Closes the open parts of the ledger. @returns the outcome of the channel. */
async function closeParts(
  em: Em,
  channel: { readonly workspaceId: string; readonly postChannelId: string },
  ledger: LedgerView,
  found: FoundPost | null,
  { now, appearsWithinMs }: { readonly now: Date; readonly appearsWithinMs: number },
): Promise<Settled> {
  if (found === null) {
    assertHasAppeared(ledger, now, appearsWithinMs);
    await closeAsRefused(em, channel, now);
    return { status: 'failed', code: 'not_published', error: absentSentence(ledger) };
  }

  const { url } = found;
  await closeAsSent(em, channel, found, now);
  if (ledger.missing.length > 0) {
    return { status: 'failed', code: 'not_published', error: shortThreadSentence(ledger, url) };
  }

  const publishedAt = ledger.open.at(-1)?.sendingAt ?? now;
  const first = ledger.sent.find(({ part }) => part === 0)?.url ?? url;
  return { status: 'published', url: first, publishedAt };
}

/**
 * Refuses `null` until the network has certainly processed the request: the post could still appear, and a retry would
 * publish it twice.
 *
 * @throws AppError `settle_too_early`
 */
function assertHasAppeared({ open }: LedgerView, now: Date, appearsWithinMs: number): void {
  const sendingForMs = Math.min(...open.map((part) => part.sendingForMs ?? Infinity));
  const waitMs = appearsWithinMs - sendingForMs;
  if (waitMs > 0) {
    const at = new Date(now.getTime() + waitMs).toISOString();
    throw new AppError(
      'settle_too_early',
      `The network received the request a moment ago and may still be processing it. Try again after ${at}.`,
      { retryAfter: Math.ceil(waitMs / 1000) },
    );
  }
}

/** The error of a channel without its post, or with only some parts. */
function absentSentence({ all, sent }: LedgerView): string {
  if (sent.length === 0) {
    return 'A person checked: the network does not have this post. A retry sends it.';
  }

  return `A person checked: the network has only ${sent.length} of ${all.length} parts. A retry sends the others.${links(sent.map(({ url }) => url))}`;
}

/** @param url URL of the part that was in doubt. */
function shortThreadSentence({ all, sent, missing }: LedgerView, url: string): string {
  const urls = [...sent.map((part) => part.url), url];
  return `A person checked: the network has ${all.length - missing.length} of ${all.length} parts. A retry sends the others.${links(urls)}`;
}

const links = (urls: readonly (string | null)[]): string => {
  const known = urls.filter((url) => url !== null);
  return known.length === 0 ? '' : ` Live: ${known.join(' ')}`;
};

async function updatePost(em: Em, { workspaceId, postId }: PostScope, now: Date): Promise<void> {
  await query(
    em,
    sql`update posts set updated_at = ${now}, published_at = (
          select min(pc.published_at) from post_channels pc
          where pc.post_id = posts.id and pc.workspace_id = posts.workspace_id and pc.status = 'published')
        where id = ${postId} and workspace_id = ${workspaceId}`,
  );
}

/**
 * Syncs an ended post through the relay, because its last workflow still shows the old outcome. A publishing post must
 * not be signalled: a new revision would stop the attempts.
 */
async function putInOutbox(em: Em, { workspaceId, postId }: PostScope): Promise<void> {
  await query(
    em,
    sql`update posts set revision = revision + 1
        where id = ${postId} and workspace_id = ${workspaceId} and ${isEndedPost()}`,
  );
}
