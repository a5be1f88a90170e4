import { recordAudit } from '../../db/audit.ts';
import type { Channel } from '../../db/entities/channels.ts';
import type { PostPart } from '../../db/entities/post-channels.ts';
import { lockClaims } from '../../db/ledger/entries.ts';
import { postAt, type FoundPost } from '../../db/ledger/outcomes.ts';
import type { Em } from '../../db/orm.ts';
import { finalizeIfPublished, refinalizePost } from '../../db/refinalize-post.ts';
import { lockParts, lockPost, type PostOnChannel } from '../../db/repositories/posts.ts';
import { forgetMetricDays, sumMetrics } from '../../db/sum-metrics.ts';
import { settled, type Settled } from '../../domain/channel-changes.ts';
import { AppError, channelDetail, wrongValue } from '../../domain/errors.ts';
import { currentParts, isOpen, isSent, linksOf, mayBeLive } from '../../domain/live-parts.ts';
import { isWithheld } from '../../domain/post-view.ts';
import type { PostStatus } from '../../domain/statuses.ts';
import { addressFault, postAddress } from '../../domain/texts.ts';
import { longestAppearanceMs } from '../../networks/content-rules.ts';
import type { PostChange } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';

/** Time in which a settlement can be corrected, in milliseconds. */
const correctableMs = 24 * 60 * 60_000;

/**
 * Resolves an unconfirmed channel by the finding of a person. An ended post gets a new final event; a cancelled post
 * that is now live on every channel ends as published. Another finding corrects the settlement.
 */
export async function settlePost(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'publicUrl' | 'rules'> & KnowsPages,
  change: PostChange,
  { channelId, url: given }: { readonly channelId: string; readonly url: string | null },
): Promise<void> {
  const { workspaceId, postId } = change;
  const scope = { workspaceId, postId };
  const url = given === null ? null : readUrl(given);
  const now = deps.now();
  await deps.orm.em.fork().transactional(async (em) => {
    const { post, channels } = await lockPost(em, change);
    const channel = channelIn(channels, channelId);
    const { row, account } = channel;
    if (row.status !== 'unconfirmed' && isSettledSo(channel, url)) {
      return;
    }

    if (url !== null) {
      await lockClaims(em, channelId); // Before the ledger.
    }

    const parts = await lockParts(em, row);
    if (row.status !== 'unconfirmed') {
      reopen(row, parts, now);
      await em.flush();
    }

    const first = parts.find(isOpen)?.part ?? 0;
    const found = url === null ? null : foundAt(deps.networks, account, url, first);
    if (found !== null) {
      assertNotLive(parts, found, first);
      await assertFree(em, { workspaceId, channelId, postChannelId: row.id }, found);
    }

    const appearsWithinMs =
      deps.rules[account.platform]?.appearsWithinMs ?? longestAppearanceMs(deps.rules);
    const outcome = closeParts(parts, found, now, appearsWithinMs);
    Object.assign(row, settled(outcome, now));
    const published = channels.filter((one) => one.row.status === 'published');
    const times = published.flatMap((one) => one.row.publishedAt?.getTime() ?? []);
    post.publishedAt = times.length === 0 ? null : new Date(Math.min(...times));
    post.updatedAt = now;
    const end = hasEnded(post) ? refinalizePost : finalizeIfPublished;
    await em.flush();
    await forgetMetricDays(em, row);
    await sumMetrics(em, workspaceId, [postId]);
    await end(em, scope, { ...deps, now: () => now });
    await em.refresh(post);
    if (hasEnded(post)) {
      // In the outbox, because its last workflow still shows the old outcome. A publishing post must not be signalled:
      // a new revision would stop the attempts.
      post.revision += 1;
    }

    await recordAudit(em, change, 'post.settled', postId);
  });
}

const hasEnded = ({ status }: { readonly status: PostStatus }): boolean =>
  status === 'failed' || status === 'published';

function channelIn(channels: readonly PostOnChannel[], id: string): PostOnChannel {
  const channel = channels.find(({ account }) => account.id === id);
  if (!channel) {
    const message = `This post has no channel "${id}".`;
    const details = [channelDetail('/channel_id', message, id)];
    throw new AppError('invalid_channel_ids', message, { details });
  }

  return channel;
}

const isClosedAt = (settledAt: Date, part: PostPart): boolean =>
  part.updatedAt.getTime() === settledAt.getTime() && (isSent(part) || part.state === 'refused');

/** Whether it was settled with the same finding, so that a client that lost the response can repeat the call. */
function isSettledSo({ row, parts }: PostOnChannel, url: string | null): boolean {
  const { settledAt } = row;
  if (settledAt === null) {
    return false;
  }

  const sent = parts.filter((part) => isClosedAt(settledAt, part) && isSent(part));
  return url === null
    ? row.errorCode === 'not_published' && sent.length === 0
    : row.url === url || sent.some((part) => part.url === url);
}

/**
 * Reopens the parts of a settled channel, so that its settlement can be corrected.
 *
 * @throws AppError `nothing_to_settle` when a person did not settle it, or too much has happened since.
 */
function reopen(row: PostOnChannel['row'], parts: readonly PostPart[], now: Date): void {
  const { settledAt, status, errorCode, unpublish } = row;
  const what = status === 'draft' ? 'a draft' : status;
  if (settledAt === null) {
    const message = `The channel is ${what}; only an unconfirmed one can be settled.`;
    throw new AppError('nothing_to_settle', message);
  }

  const closed = parts.filter((part) => isClosedAt(settledAt, part));
  const lastRun = Math.max(...closed.map(({ run }) => run));
  const isSettled = status === 'published' || errorCode === 'not_published';
  const why =
    now.getTime() - settledAt.getTime() > correctableMs
      ? 'It was settled more than a day ago'
      : isSettled && !isWithheld(unpublish) && parts.every(({ run }) => run <= lastRun)
        ? null
        : 'It was sent again or unpublished since it was settled';
  if (why !== null) {
    const message = `The channel is ${what}. ${why}, so the settlement cannot be corrected.`;
    throw new AppError('nothing_to_settle', message);
  }

  for (const part of closed) {
    const sendingAt = part.sendingAt ?? row.triedAt;
    Object.assign(part, { state: 'sending', url: null, remoteId: null, sendingAt });
  }
}

function closeParts(
  parts: readonly PostPart[],
  found: FoundPost | null,
  now: Date,
  appearsWithinMs: number,
): Settled {
  const all = currentParts(parts);
  const sent = all.filter(isSent);
  const live = all.filter(mayBeLive);
  const open = parts.filter(isOpen);
  if (found === null) {
    assertHasAppeared(open, now, appearsWithinMs);
    for (const part of open) {
      Object.assign(part, { state: 'refused', sendingAt: null, updatedAt: now });
    }

    return { missing: absentSentence(sent, `only ${sent.length} of ${all.length}`) };
  }

  const doubted = open.findLast(({ part }) => part === open[0]?.part);
  for (const part of open) {
    const at = part === doubted ? found : {};
    Object.assign(part, { state: 'sent', updatedAt: now, ...at });
  }

  if (live.length < all.length) {
    return { missing: absentSentence([...sent, found], `${live.length} of ${all.length}`) };
  }

  return {
    url: sent.find(({ part }) => part === 0)?.url ?? found.url,
    publishedAt: open.at(-1)?.sendingAt ?? now,
    sentText: parts.findLast((part) => part.part === 0 && isSent(part))?.text ?? null,
  };
}

/**
 * Refuses `null` until the network has certainly processed the request: the post could still appear, and a retry would
 * publish it twice.
 */
function assertHasAppeared(open: readonly PostPart[], now: Date, appearsWithinMs: number): void {
  const sendingAt = Math.max(...open.map((part) => part.sendingAt?.getTime() ?? -Infinity));
  const waitMs = sendingAt + appearsWithinMs - now.getTime();
  if (waitMs > 0) {
    const at = new Date(now.getTime() + waitMs).toISOString();
    const message = `The network received the request a moment ago and may still be processing it. Try again after ${at}.`;
    throw new AppError('settle_too_early', message, { retryAfter: Math.ceil(waitMs / 1000) });
  }
}

function absentSentence(live: readonly { readonly url: string | null }[], parts: string): string {
  if (live.length === 0) {
    return 'A person checked: the network does not have this post. A retry sends it.';
  }

  const links = linksOf(live);
  return `A person checked: the network has ${parts} parts. A retry sends the others.${links === '' ? '' : ` Live: ${links}`}`;
}

/** The account, as `PostPages` needs it. */
type PageOwner = Pick<Channel, 'platform' | 'baseUrl' | 'remoteId' | 'handle' | 'settings'>;

export type KnowsPages = { readonly networks: Pick<ServiceDeps['networks'], 'postPages'> };

/** Normalizes the URL of a post as browsers do. It is shown as a link and never requested. */
function readUrl(given: string): string {
  const fault = addressFault(given);
  if (fault !== null) {
    throw wrongValue('/url', fault);
  }

  return postAddress(given);
}

/** @param part Of the thread, from 0. */
function foundAt(
  { postPages }: KnowsPages['networks'],
  channel: PageOwner,
  url: string,
  part: number,
): FoundPost {
  const pages = postPages[channel.platform];
  if (!pages) {
    return { url, remoteId: null };
  }

  const page = pages.idAt(channel, new URL(url), part);
  if (page === null) {
    const what = part > 0 ? `part ${part + 1} of the thread` : 'a post';
    throw wrongValue(
      '/url',
      `must be the address of ${what} of ${channel.handle} on ${channel.platform}, such as ${pages.example(channel, part)}`,
    );
  }

  return { url, remoteId: page.id };
}

/**
 * Refuses the URL of a part of the thread that is known to be live.
 *
 * @param inDoubt The part that is asked for, from 0.
 */
function assertNotLive(
  parts: readonly PostPart[],
  { url, remoteId }: FoundPost,
  inDoubt: number,
): void {
  const known = parts
    .filter(isSent)
    .find((part) => part.url === url || (remoteId !== null && part.remoteId === remoteId));
  if (known && known.part !== inDoubt) {
    throw wrongValue(
      '/url',
      `is that of part ${known.part + 1} of the thread, which is known to be live. Send the URL of part ${inDoubt + 1}, or null only if part ${inDoubt + 1} is not there`,
    );
  }
}

/**
 * Refuses the URL of another post of the channel.
 *
 * @param em Its transaction holds `lockClaims`, so no concurrent reconcile or settle of the channel interferes.
 */
async function assertFree(
  em: Em,
  channel: Parameters<typeof postAt>[1],
  found: FoundPost,
): Promise<void> {
  const other = await postAt(em, channel, found);
  if (other !== null) {
    const which = other.id === null ? 'a deleted post' : `post ${other.id}`;
    const message = `This URL already belongs to ${which} of this channel. Send the URL of this post, or null if it is not there.`;
    const details = [{ path: '/url', message }];
    throw new AppError('nothing_to_settle', message, { details });
  }
}
