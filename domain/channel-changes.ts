import { channelErrors, type ChannelErrorCode } from './channel-error.ts';
import { isOpen, isSent, isWholeThreadLive, linksOf, type Part } from './live-parts.ts';
import { firstReadMs } from './metrics-schedule.ts';
import type { ChannelStatus, PostStatus } from './statuses.ts';

// Changes of a post's channels by calls. The worker's changes are in db/channel-status.ts, with the states.

type Why = { readonly errorCode: ChannelErrorCode; readonly error: string };

const noError = { error: null, errorCode: null, retryAt: null } as const;

export const waiting = <Status extends 'draft' | 'scheduled'>(status: Status) => ({
  status,
  ...noError,
});

const failed = ({ errorCode, error }: Why) => ({
  status: 'failed' as const,
  error,
  errorCode,
  retryAt: null,
});

const awaitingReconcile = {
  errorCode: 'network_unavailable',
  error:
    'The network was asked to publish, but it is not known yet whether it has the post. The next attempt checks.',
} as const;

/**
 * Stops a channel of a post that becomes a draft, unless it is being sent or reconciled: with an open part it could be
 * sent again as a draft. A late attempt may report a failure although the whole thread is live.
 */
function stopped(status: ChannelStatus, parts: readonly Part[], now: Date) {
  const isInDoubt = parts.some(isOpen) || isWholeThreadLive(parts);
  if (isInDoubt || (status !== 'scheduled' && status !== 'retrying')) {
    return status === 'scheduled'
      ? { status: 'retrying' as const, ...awaitingReconcile, retryAt: now }
      : {};
  }

  const sent = parts.filter(isSent);
  if (sent.length === 0) {
    return waiting('draft');
  }

  const urls = linksOf(sent);
  const live = urls === '' ? '' : ` Live parts of the thread: ${urls}.`;
  const error = `The post was cancelled.${live} ${channelErrors.cancelled.advice}`;
  return failed({ errorCode: 'cancelled', error });
}

type OnChannel = { readonly row: { status: ChannelStatus }; readonly parts: readonly Part[] };

export function stopChannels(channels: readonly OnChannel[], now: Date): void {
  for (const { row, parts } of channels) {
    Object.assign(row, stopped(row.status, parts, now));
  }
}

type Stopped = {
  readonly post: { status: PostStatus; scheduledAt: Date | null; updatedAt: Date };
  readonly channels: readonly OnChannel[];
};

/** Makes a post a draft, and stops its channels. */
export function stopPost({ post, channels }: Stopped, now: Date): void {
  stopChannels(channels, now);
  post.status = 'draft';
  post.scheduledAt = null;
  post.updatedAt = now;
}

/** How an unconfirmed channel was settled. */
export type Settled =
  | { readonly url: string | null; readonly publishedAt: Date; readonly sentText: string | null }
  | { readonly missing: string };

/** Settles a channel, or corrects its settlement. Clears what was known of the post that an earlier one named. */
export const settled = (outcome: Settled, now: Date) => ({
  settledAt: now,
  unpublish: null,
  metrics: null,
  metricsUpdatedAt: null,
  goneAt: null,
  ...('missing' in outcome
    ? {
        ...failed({ errorCode: 'not_published', error: outcome.missing }),
        url: null,
        publishedAt: null,
        sentText: null,
        nextMetricsAt: null,
      }
    : {
        status: 'published' as const,
        ...noError,
        ...outcome,
        nextMetricsAt: new Date(now.getTime() + firstReadMs),
      }),
});
