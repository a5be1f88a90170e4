import { workflowInfo } from '@temporalio/workflow';
import type { PublishPostInput } from './messages.ts';
import { networksKey } from './search-attributes.ts';

/**
 * What the Temporal UI shows of a workflow at the moment, in markdown: ids, times, statuses and codes. It costs
 * nothing: none of it is in the history, a worker computes it when a person opens the page.
 */

/** What is known of one channel of a post. */
export type ChannelState = {
  readonly channelId: string;
  readonly network: string;
  readonly status: string;
  /** Why it has no post; null or left out while nothing is wrong. */
  readonly code?: string | null;
};

export function asleep(input: PublishPostInput, revision: number, dueAtMs: number): string {
  const networks = workflowInfo().typedSearchAttributes.get(networksKey);
  const where = networks ? ` Networks when it was scheduled: ${networks.join(', ')}.` : '';
  return `Waiting until **${new Date(dueAtMs).toISOString()}** (revision ${revision}).${where}\n\n${whereToLook(input)}`;
}

export const publishing = (
  input: PublishPostInput,
  revision: number,
  channels: readonly ChannelState[],
): string =>
  `Publishing (revision ${revision}).\n\n${listOf(channels)}\n\nWhat a channel under way waits for (its try, why the last one failed, and when the next one is) stands at its pending activity.\n\n${whereToLook(input)}`;

export const ended = (
  input: PublishPostInput,
  status: string,
  channels: readonly ChannelState[],
  deliveries: number,
): string =>
  `The post is **${status}**. Webhooks to deliver: ${deliveries}.\n\n${listOf(channels)}\n\n${whereToLook(input)}`;

export const stopped = (input: PublishPostInput, why: string): string =>
  `${why}\n\n${whereToLook(input)}`;

const listOf = (channels: readonly ChannelState[]): string =>
  channels
    .map(
      ({ network, channelId, status, code }) =>
        `- ${network}, channel \`${channelId}\`: **${status}**${code ? `, \`${code}\`` : ''}`,
    )
    .join('\n');

const whereToLook = ({ workspaceId, postId }: PublishPostInput): string =>
  `Workspace \`${workspaceId}\`. Texts, results and errors in words: \`GET /api/v1/posts/${postId}\`, or \`npm run admin -- post show ${postId}\`.`;
