import { defineSignal } from '@temporalio/workflow';

/** Everything that another process may say to a workflow, and what it is called. Ids, times and codes only. */

/** Workflows of posts, and the quick steps on our own database. */
export const postsQueue = 'posts';

/**
 * Deliveries, their workflows and their requests. Apart from the posts, so that neither waits for the other's crowds;
 * together, so that Temporal can hand out the first request along with the workflow's first task.
 */
export const webhooksQueue = 'webhooks';

/** A queue per network, so that each can be limited and scaled alone. */
export const publishQueue = (network: string): string => `publish-${network}`;

/** One post has one workflow, so starting it twice is harmless, and the Temporal UI finds it from the post. */
export const postWorkflowId = (postId: string): string => `post-${postId}`;

export const deliveryWorkflowId = (deliveryId: string): string => `delivery-${deliveryId}`;

/** The schedule that starts a sweep each minute. */
export const sweepScheduleId = 'punctual-sweep';

export type PublishPostInput = {
  readonly workspaceId: string;
  readonly postId: string;
  /** A message with a lower revision than one already seen is ignored. */
  readonly revision: number;
  /** ISO 8601 instant in UTC. */
  readonly dueAt: string;
};

export type DeliverWebhookInput = {
  readonly workspaceId: string;
  readonly deliveryId: string;
  /** 1, and one more for each replay. A delivery's first workflow has none. */
  readonly round?: number;
};

export const reschedule = defineSignal<[{ revision: number; dueAt: string }]>('reschedule');

/** `unfinished`: the network may have the post, and somebody has to look. Left out when nothing is left to do. */
export const cancel = defineSignal<[{ revision: number; unfinished?: true }]>('cancel');

/** Deliver once more. A round that was heard of before changes nothing. */
export const replay = defineSignal<[{ round: number }]>('replay');
