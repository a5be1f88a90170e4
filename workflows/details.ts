import { workflowInfo } from '@temporalio/workflow';
import type { PublishPostInput } from './messages.ts';
import { networksKey } from './search-attributes.ts';

/**
 * What the Temporal UI shows of a workflow at the moment, in markdown: ids, times, statuses and codes. It costs
 * nothing: none of it is in the history, a worker computes it when a person opens the page.
 *
 * A channel appears by its network and its id, never by its handle: a handle is personal data, changes, and could not be
 * removed from a history.
 */

/** What is known of one channel of a post. */
export type ChannelState = {
  readonly channelId: string;
  readonly network: string;
  readonly status: string;
  /** Why it has no post; null or left out while nothing is wrong. */
  readonly code?: string | null;
};

/** A moment as people write it: `2027-01-04 08:00 UTC`, with seconds where it has some. */
export function moment(ms: number): string {
  const [date, time = ''] = new Date(ms).toISOString().split('T');
  return `${date} ${time.slice(0, time.slice(6, 8) === '00' ? 5 : 8)} UTC`;
}

const spelled: Readonly<Record<string, string>> = {
  x: 'X',
  linkedin: 'LinkedIn',
  youtube: 'YouTube',
};

/** A network's name as people write it. */
export const networkName = (network: string): string =>
  spelled[network] ?? `${network.slice(0, 1).toUpperCase()}${network.slice(1)}`;

export function asleep(input: PublishPostInput, revision: number, dueAtMs: number): string {
  const networks = workflowInfo().typedSearchAttributes.get(networksKey);
  const where = networks
    ? ` Networks when it was scheduled: ${networks.map(networkName).join(', ')}.`
    : '';
  return `Waiting until **${moment(dueAtMs)}** (revision ${revision}).${where}\n\n${whereToLook(input)}`;
}

export const publishing = (
  input: PublishPostInput,
  revision: number,
  channels: readonly ChannelState[],
): string =>
  `Publishing (revision ${revision}).\n\n${listOf(channels)}\n\nThe pending activity of a channel under way shows its attempt, why the last one failed, and when the next one is.\n\n${whereToLook(input)}`;

export const ended = (
  input: PublishPostInput,
  outcome: string,
  channels: readonly ChannelState[],
  deliveries: number,
): string =>
  `The post is **${outcome}**. Webhooks to deliver: ${deliveries}.\n\n${listOf(channels)}\n\n${whereToLook(input)}`;

export const stopped = (input: PublishPostInput, why: string): string =>
  `${why}\n\n${whereToLook(input)}`;

const listOf = (channels: readonly ChannelState[]): string =>
  channels
    .map(
      ({ network, channelId, status, code }) =>
        `- ${networkName(network)}, channel \`${channelId}\`: **${status}**${code ? `, \`${code}\`` : ''}`,
    )
    .join('\n');

const whereToLook = ({ workspaceId, postId }: PublishPostInput): string =>
  `Workspace \`${workspaceId}\`. Texts, results and errors in words: \`GET /api/v1/posts/${postId}\`, or \`npm run admin -- post show ${postId}\`.`;
