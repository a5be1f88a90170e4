import { defineSignal, log } from '@temporalio/workflow';
import { parseInstant } from '../domain/due-time.ts';

// Everything that another process may send to a workflow, and its names. Ids, times and codes only.

/** Workflows of posts with their local activities, and the sweep. */
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

/** The schedule that starts a refresh of metrics every five minutes. */
export const metricsScheduleId = 'punctual-metrics';

/** One refresh of all that is due at a time, and beside it one for each post that somebody asks for. */
export const metricsWorkflowId = 'metrics';
export const postMetricsWorkflowId = (postId: string): string => `metrics-${postId}`;

export type RefreshMetricsInput = {
  readonly networks: readonly string[];
  /** Only this post. */
  readonly post?: { readonly workspaceId: string; readonly postId: string };
};

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

/** `unfinished`: the network may have the post, and the workflow must finish it. Left out when nothing is left to do. */
export const cancel = defineSignal<[{ revision: number; unfinished?: true }]>('cancel');

/** Deliver once more. A round that was signalled before changes nothing. */
export const replay = defineSignal<[{ round: number }]>('replay');

// A signal may be typed into Temporal's Web UI. A handler that throws fails the workflow's task again and again, and an
// invalid time would wake it at once: so what is not as our own processes send it is ignored.

/** The largest `integer` of PostgreSQL, which revisions and rounds are. */
const largest = 2 ** 31 - 1;

export type Reschedule = { readonly revision: number; readonly dueAtMs: number };

export function readReschedule(given: unknown): Reschedule | null {
  const { revision, dueAt } = fieldsOf(given);
  const due = typeof dueAt === 'string' ? parseInstant(dueAt) : null;
  return isCount(revision) && due !== null
    ? { revision, dueAtMs: due.getTime() }
    : ignored('reschedule');
}

export type Cancel = { readonly revision: number; readonly isUnfinished: boolean };

export function readCancel(given: unknown): Cancel | null {
  const { revision, unfinished } = fieldsOf(given);
  return isCount(revision) ? { revision, isUnfinished: unfinished === true } : ignored('cancel');
}

/** @returns the round. */
export function readReplay(given: unknown): number | null {
  const { round } = fieldsOf(given);
  return isCount(round) ? round : ignored('replay');
}

type Fields = Readonly<Partial<Record<'revision' | 'dueAt' | 'unfinished' | 'round', unknown>>>;

const fieldsOf = (given: unknown): Fields =>
  typeof given === 'object' && given !== null ? given : {};

const isCount = (given: unknown): given is number =>
  Number.isInteger(given) && Number(given) >= 1 && Number(given) <= largest;

function ignored(signal: string): null {
  log.warn('a signal that is not as Punctual sends it was ignored', { signal });
  return null;
}
