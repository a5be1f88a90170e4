import { defineSignal, log } from '@temporalio/workflow';
import { parseInstant } from '../domain/due-time.ts';

// Inputs and signals of workflows, and their names. Only ids, times and codes.

/** Task queue of posts' workflows with their local activities, and of the sweep. */
export const postsQueue = 'posts';

/** For the workflows and activities of deliveries: Temporal can dispatch the first activity with the workflow task. */
export const webhooksQueue = 'webhooks';

/** Task queue of a network, so that each can be limited and scaled on its own. */
export const publishQueue = (network: string): string => `publish-${network}`;

/** One workflow per post, so a second start is harmless, and the workflow can be found by the post's id. */
export const postWorkflowId = (postId: string): string => `post-${postId}`;

export const deliveryWorkflowId = (deliveryId: string): string => `delivery-${deliveryId}`;

export const unpublishWorkflowId = (postId: string): string => `unpublish-${postId}`;

export const sweepScheduleId = 'punctual-sweep';

export const metricsScheduleId = 'punctual-metrics';

/** One refresh of all due posts at a time, and one for each requested post. */
export const metricsWorkflowId = 'metrics';
export const postMetricsWorkflowId = (postId: string): string => `metrics-${postId}`;

export type RefreshMetricsInput = {
  readonly networks: readonly string[];
  readonly post?: { readonly workspaceId: string; readonly postId: string };
};

export type PublishPostInput = {
  readonly workspaceId: string;
  readonly postId: string;
  /** Signals with a lower revision than one received before are ignored. */
  readonly revision: number;
  /** ISO 8601 instant in UTC. */
  readonly dueAt: string;
};

export type DeliverWebhookInput = {
  readonly workspaceId: string;
  readonly deliveryId: string;
  /** 1, plus one for each replay. Omitted for a delivery's first workflow. */
  readonly round?: number;
};

export type UnpublishPostInput = Pick<PublishPostInput, 'workspaceId' | 'postId'>;

export const reschedule = defineSignal<[{ revision: number; dueAt: string }]>('reschedule');

export const cancel = defineSignal<[{ revision: number }]>('cancel');

/** Starts the next round. A round that was signalled before changes nothing. */
export const replay = defineSignal<[{ round: number }]>('replay');

export const unpublish = defineSignal('unpublish');

// Signals can be sent by hand from the Temporal UI. A handler that throws fails the workflow task again and again, so
// malformed signals are ignored.

/** Largest `integer` of PostgreSQL, the type of revisions and rounds. */
const largest = 2 ** 31 - 1;

type Reschedule = { readonly revision: number; readonly dueAtMs: number };

export function readReschedule(given: unknown): Reschedule | null {
  const { revision, dueAt } = fieldsOf(given);
  const due = typeof dueAt === 'string' ? parseInstant(dueAt) : null;
  return isCount(revision) && due !== null
    ? { revision, dueAtMs: due.getTime() }
    : ignored('reschedule');
}

export function readCancel(given: unknown): Pick<Reschedule, 'revision'> | null {
  const { revision } = fieldsOf(given);
  return isCount(revision) ? { revision } : ignored('cancel');
}

export function readReplay(given: unknown): number | null {
  const { round } = fieldsOf(given);
  return isCount(round) ? round : ignored('replay');
}

type Fields = Readonly<Partial<Record<'revision' | 'dueAt' | 'round', unknown>>>;

const fieldsOf = (given: unknown): Fields =>
  typeof given === 'object' && given !== null ? given : {};

const isCount = (given: unknown): given is number =>
  Number.isInteger(given) && Number(given) >= 1 && Number(given) <= largest;

function ignored(signal: string): null {
  log.warn('ignored a malformed signal', { signal });
  return null;
}
