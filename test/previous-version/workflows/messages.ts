import { defineSignal } from '@temporalio/workflow';

/** Names and payloads of all messages to workflows. Payloads hold only ids, times and codes. */

/** Workflows and local activities. */
export const postsQueue = 'posts';

/** Webhook requests, apart from posts, so that slow receivers occupy no slot of a post. */
export const webhooksQueue = 'webhooks';

/** One queue per network, so that each can be limited and scaled alone. */
export const publishQueue = (network: string): string => `publish-${network}`;

/** One workflow per post makes a repeated start harmless, and the Temporal UI finds it by the post's id. */
export const postWorkflowId = (postId: string): string => `post-${postId}`;

export const deliveryWorkflowId = (deliveryId: string): string => `delivery-${deliveryId}`;

export type PublishPostInput = {
  readonly workspaceId: string;
  readonly postId: string;
  /** A message with a lower revision than one already received is ignored. */
  readonly revision: number;
  /** ISO 8601 instant in UTC. */
  readonly dueAt: string;
};

export type DeliverWebhookInput = {
  readonly workspaceId: string;
  readonly deliveryId: string;
  /** 1, plus one for each replay. Absent for the first round. */
  readonly round?: number;
};

export const reschedule = defineSignal<[{ revision: number; dueAt: string }]>('reschedule');
export const cancel = defineSignal<[{ revision: number }]>('cancel');

/** Requests another round. A known round changes nothing. */
export const replay = defineSignal<[{ round: number }]>('replay');
