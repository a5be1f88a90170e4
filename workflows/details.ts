import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import type { EndedOutcome } from '../domain/statuses.ts';
import type { PublishPostInput, UnpublishPostInput } from './messages.ts';
import { networksKey } from './search-attributes.ts';

/*
 * Details of a workflow for the Temporal UI, without any text of a post: its current state as Markdown, which a worker
 * computes when the page is opened, and the failure it ends with.
 */

export type ChannelDetails = {
  readonly channelId: string;
  readonly network: string;
  readonly handle: string;
  readonly status: string;
  readonly code?: string | null;
};

/** Formats a time like `2027-01-04 08:00 UTC`, with seconds if they are not 0. */
export function moment(ms: number): string {
  const [date, time = ''] = new Date(ms).toISOString().split('T');
  return `${date} ${time.slice(0, time.slice(6, 8) === '00' ? 5 : 8)} UTC`;
}

const networkNames: Readonly<Record<string, string>> = {
  x: 'X',
  linkedin: 'LinkedIn',
  youtube: 'YouTube',
};

export const networkLabel = (network: string): string =>
  networkNames[network] ?? `${network.slice(0, 1).toUpperCase()}${network.slice(1)}`;

/** Escapes Markdown in a text of a tenant. A handle like `@a_b@c.example` stays as it is. Older claims have none. */
export const inMarkdown = (text = ''): string =>
  text.replaceAll(/[\\`*\[\]<>~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gv, String.raw`\$&`);

export const channelLabel = ({
  network,
  handle,
}: Pick<ChannelDetails, 'network' | 'handle'>): string =>
  `${networkLabel(network)} ${inMarkdown(handle)}`;

export function waitingDetails(input: PublishPostInput, revision: number, dueAtMs: number): string {
  const networks = workflowInfo().typedSearchAttributes.get(networksKey);
  const where = networks
    ? ` Networks when it was scheduled: ${networks.map(networkLabel).join(', ')}.`
    : '';
  return `Waiting until **${moment(dueAtMs)}** (revision ${revision}).${where}\n\n${furtherReading(input)}`;
}

export const publishingDetails = (
  input: PublishPostInput,
  revision: number,
  channels: readonly ChannelDetails[],
): string =>
  `Publishing (revision ${revision}).\n\n${listOf(channels)}\n\nThe pending activity of a channel under way shows its attempt, why the last one failed, and when the next one is.\n\n${furtherReading(input)}`;

export const endedDetails = (
  input: PublishPostInput,
  outcome: string,
  channels: readonly ChannelDetails[],
  deliveries: number,
): string =>
  `The post is **${outcome}**. Webhooks to deliver: ${deliveries}.\n\n${listOf(channels)}\n\n${furtherReading(input)}`;

export const removalDetails = (
  input: UnpublishPostInput,
  channels: readonly ChannelDetails[],
): string =>
  `The post is being removed from its networks.\n\n${listOf(channels)}\n\nA pending activity shows its attempt, why the last one failed, and when the next one is.\n\n${furtherReading(input)}`;

export const stoppedDetails = (input: PublishPostInput): string =>
  `There is nothing to publish: the post is a draft, or was deleted.\n\n${furtherReading(input)}`;

const listOf = (channels: readonly ChannelDetails[]): string =>
  channels
    .map(
      ({ status, code, ...channel }) =>
        `- ${channelLabel(channel)}: **${status}**${code ? `, \`${code}\`` : ''}`,
    )
    .join('\n');

const furtherReading = ({ workspaceId, postId }: UnpublishPostInput): string =>
  `Workspace \`${workspaceId}\`. Texts, results and errors in words: \`GET /api/v1/posts/${postId}\`, or \`npm run admin -- post show ${postId}\`.`;

// A workflow whose post or delivery needs attention ends as Failed, so that Temporal's lists and counts show it. The
// BENIGN category keeps it out of the SDK's failure metrics, because the worker is not at fault.

type BadOutcome = Exclude<EndedOutcome, 'published'>;

const postFailureMessages: Readonly<Record<BadOutcome, string>> = {
  failed: 'The post was published on none of its channels.',
  partial: 'The post was published on some of its channels only.',
  unconfirmed:
    'It is not known for every channel whether the post was published. Check these accounts, then settle the channels.',
};

/** Has the type `post_failed`, `post_partial` or `post_unconfirmed`. */
export function postFailure(
  outcome: BadOutcome,
  channels: readonly ChannelDetails[],
): ApplicationFailure {
  const unpublished = channels.filter(({ status }) => status !== 'published').map(describeChannel);
  return benign(
    `post_${outcome}`,
    [postFailureMessages[outcome], ...unpublished].join(' '),
    channels,
  );
}

const describeChannel = ({ status, code, ...channel }: ChannelDetails): string =>
  `${channelLabel(channel)}: ${code ?? status}.`;

const deliveryFailureMessage = 'The delivery was given up: the endpoint did not take the event.';

export const deliveryFailure = (deliveryId: string, round: number): ApplicationFailure =>
  benign('delivery_failed', deliveryFailureMessage, { deliveryId, round });

const removalFailureMessage = 'The post may still be live on some of its networks.';

/** Failure of type `unpublish_failed`. @param left The channels that the post was not removed from. */
export const removalFailure = (left: readonly ChannelDetails[]): ApplicationFailure =>
  benign('unpublish_failed', [removalFailureMessage, ...left.map(describeChannel)].join(' '), left);

/** Whether a workflow failed on purpose. The worker's logger has only the message to tell. */
export const isExpectedFailure = (message: string): boolean =>
  [...Object.values(postFailureMessages), deliveryFailureMessage, removalFailureMessage].some(
    (beginning) => message.startsWith(beginning),
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
