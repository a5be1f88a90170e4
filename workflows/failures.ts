import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { EndedOutcome } from '../domain/post-status.ts';
import { networkName, type ChannelState } from './details.ts';

// A workflow whose post or delivery needs a person ends as Failed, so that Temporal's own lists and counts show it. The
// workers did nothing wrong: the category keeps these ends out of the SDK's failure metrics.

type BadOutcome = Exclude<EndedOutcome, 'published'>;

const beginnings: Readonly<Record<BadOutcome, string>> = {
  failed: 'The post was published on none of its channels.',
  partial: 'The post was published on some of its channels only.',
  unconfirmed:
    'Whether the post was published is not known for every channel: look at the account, then settle it.',
};

/** `post_failed`, `post_partial` or `post_unconfirmed`. It names channels and codes, and no words of a post. */
export function postFailure(
  outcome: BadOutcome,
  channels: readonly ChannelState[],
): ApplicationFailure {
  const unpublished = channels
    .filter(({ status }) => status !== 'published')
    .map(
      ({ network, channelId, status, code }) =>
        `${networkName(network)} channel ${channelId}: ${code ?? status}.`,
    );
  return benign(`post_${outcome}`, [beginnings[outcome], ...unpublished].join(' '), channels);
}

const givenUp = 'The delivery was given up: the endpoint did not take the event.';

export const deliveryFailure = (deliveryId: string, round: number): ApplicationFailure =>
  benign('delivery_failed', givenUp, {
    deliveryId,
    round,
  });

/** Whether a workflow that failed with this message did so on purpose: a worker's log has nothing else to go by. */
export const isMeant = (message: string): boolean =>
  [...Object.values(beginnings), givenUp].some((beginning) => message.startsWith(beginning));

function benign(type: string, message: string, detail: unknown): ApplicationFailure {
  const failure = ApplicationFailure.create({
    type,
    message,
    nonRetryable: true,
    details: [detail],
    category: ApplicationFailureCategory.BENIGN,
  });
  failure.stack = ''; // The place in our code says nothing about the post.
  return failure;
}
