export const postStatuses = ['draft', 'scheduled', 'publishing', 'published', 'failed'] as const;
export type PostStatus = (typeof postStatuses)[number];

/**
 * `retrying`: an automatic retry is due at `retry_at`. `unconfirmed`: the network may or may not have the post and
 * cannot tell, so the post is not sent again.
 */
export const channelStatuses = [
  'draft',
  'scheduled',
  'publishing',
  'retrying',
  'published',
  'failed',
  'unconfirmed',
] as const;
export type ChannelStatus = (typeof channelStatuses)[number];

/** `removed` is only shown, of a `published` channel whose post was removed since. */
export const shownChannelStatuses = [...channelStatuses, 'removed'] as const;
export type ShownChannelStatus = (typeof shownChannelStatuses)[number];

/** The states of the removal of a post from a network. */
export const unpublishStatuses = [
  'pending',
  'removed',
  'not_found',
  'unsupported',
  'failed',
] as const;
export type UnpublishStatus = (typeof unpublishStatuses)[number];

/** Counts a post's channels. A removed channel counts as published too. */
export function summarize(channels: readonly ShownChannelStatus[]) {
  const published = channels.filter((s) => s === 'published' || s === 'removed').length;
  const failed = channels.filter((s) => s === 'failed' || s === 'unconfirmed').length;
  const removed = channels.filter((s) => s === 'removed').length;
  return { published, failed, pending: channels.length - published - failed, removed };
}

/** Whether no automatic step will change this channel any more. */
export const isFinal = (status: ShownChannelStatus): boolean =>
  ['published', 'removed', 'failed', 'unconfirmed'].includes(status);

/** Whether an attempt began, and the channel has not ended. */
export const isUnderWay = (status: ShownChannelStatus): boolean =>
  status === 'publishing' || status === 'retrying';

/** The status of a post whose publishing has begun. It always follows from the channels. */
export function statusOfBegunPost(channels: readonly ShownChannelStatus[]): PostStatus {
  const { failed, pending } = summarize(channels);
  return pending > 0 ? 'publishing' : failed > 0 ? 'failed' : 'published';
}

export const eventTypes = [
  'post.scheduled',
  'post.cancelled',
  'post.retrying',
  'post.published',
  'post.partial',
  'post.failed',
  'post.unpublished',
  'channel.connected',
  'channel.at_risk',
  'channel.needs_reconnect',
  'channel.disconnected',
  'webhook.test',
] as const;
export type EventType = (typeof eventTypes)[number];

/** In the events of an endpoint: all events, also those of later versions. */
export const everyEvent = '*';
export type Subscription = EventType | typeof everyEvent;

/** The event that ends a post, from its channels' final statuses; null while a channel is not final. */
export function finalEventType(channels: readonly ShownChannelStatus[]): EventType | null {
  const { published, failed, pending } = summarize(channels);
  if (pending > 0 || channels.length === 0) {
    return null;
  }

  return failed === 0 ? 'post.published' : published > 0 ? 'post.partial' : 'post.failed';
}

export const endedOutcomes = ['published', 'partial', 'failed', 'unconfirmed'] as const;
export type EndedOutcome = (typeof endedOutcomes)[number];

/** The outcome of a post. `unconfirmed` takes precedence, because a person has to check the account first. */
export function endedOutcome(channels: readonly ShownChannelStatus[]): EndedOutcome {
  const { published, failed } = summarize(channels);
  if (channels.includes('unconfirmed')) {
    return 'unconfirmed';
  }

  return failed === 0 ? 'published' : published > 0 ? 'partial' : 'failed';
}

/** @returns null until the post has ended. */
export const outcomeOf = (
  status: PostStatus,
  channels: readonly ShownChannelStatus[],
): EndedOutcome | null =>
  status === 'published' || status === 'failed' ? endedOutcome(channels) : null;

/** How long before a grant expires its owner is warned, in milliseconds. */
export const warnBeforeMs = 7 * 24 * 3_600_000;

export const channelAccess = ['connected', 'at_risk', 'needs_reconnect'] as const;

/**
 * @param endsAt When the grant expires; null when it never does or the network does not say.
 * @returns `expiresAt` null also when the access is lost already, whatever expiry is stored.
 */
export function channelAccessOf(
  state: 'connected' | 'needs_reconnect',
  endsAt: Date | null,
  now: Date,
): { readonly state: (typeof channelAccess)[number]; readonly expiresAt: Date | null } {
  if (state === 'needs_reconnect') {
    return { state, expiresAt: null };
  }

  const isAtRisk = endsAt !== null && endsAt.getTime() - warnBeforeMs <= now.getTime();
  return { state: isAtRisk ? 'at_risk' : state, expiresAt: endsAt };
}

/**
 * The state of a row's workflow in Temporal. `asleep`: it waits for a timer or a signal. `busy`: it has a task or an
 * activity. `gone`: it ended or never existed. `unknown`: Temporal did not say.
 */
export type WorkflowState = 'asleep' | 'busy' | 'gone' | 'unknown';

export type WorkflowStates = {
  readonly ofPost: (postId: string) => Promise<WorkflowState>;
  readonly ofDelivery: (deliveryId: string) => Promise<WorkflowState>;
  /** State of the workflow that removes a post from its networks. */
  readonly ofRemoval: (postId: string) => Promise<WorkflowState>;
  /** The newest revision that a post's workflow knows, and the time of its last event; null if Temporal did not say. */
  readonly knownOfPost: (
    postId: string,
  ) => Promise<{ readonly revision: number; readonly at: Date } | null>;
};
