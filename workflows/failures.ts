import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { EndedOutcome } from '../domain/post-status.ts';
import { networkLabel, type ChannelDetails } from './details.ts';

// A workflow whose post or delivery needs attention ends as Failed, so that Temporal's lists and counts show it. The
// BENIGN category keeps it out of the SDK's failure metrics, because the worker is not at fault.

type BadOutcome = Exclude<EndedOutcome, 'published'>;

const postFailureMessages: Readonly<Record<BadOutcome, string>> = {
  failed: 'The post was published on none of its channels.',
  partial: 'The post was published on some of its channels only.',
  unconfirmed:
    'It is not known for every channel whether the post was published. Check these accounts, then settle the channels.',
};

/**
 * Failure of type `post_failed`, `post_partial` or `post_unconfirmed`. Contains channels and codes, never text of the
 * post.
 */
export function postFailure(
  outcome: BadOutcome,
  channels: readonly ChannelDetails[],
): ApplicationFailure {
  const unpublished = channels
    .filter(({ status }) => status !== 'published')
    .map(
      ({ network, channelId, status, code }) =>
        `${networkLabel(network)} channel ${channelId}: ${code ?? status}.`,
    );
  return benign(
    `post_${outcome}`,
    [postFailureMessages[outcome], ...unpublished].join(' '),
    channels,
  );
}

const deliveryFailureMessage = 'The delivery was given up: the endpoint did not take the event.';

export const deliveryFailure = (deliveryId: string, round: number): ApplicationFailure =>
  benign('delivery_failed', deliveryFailureMessage, {
    deliveryId,
    round,
  });

/** Whether a workflow failed on purpose. The worker's logger has only the message to tell. */
export const isExpectedFailure = (message: string): boolean =>
  [...Object.values(postFailureMessages), deliveryFailureMessage].some((beginning) =>
    message.startsWith(beginning),
  );

function benign(type: string, message: string, detail: unknown): ApplicationFailure {
  const failure = ApplicationFailure.create({
    type,
    message,
    nonRetryable: true,
    details: [detail],
    category: ApplicationFailureCategory.BENIGN,
  });
  failure.stack = ''; // The position in the code does not help the reader.
  return failure;
}
