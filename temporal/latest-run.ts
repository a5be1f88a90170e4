import type { Client } from '@temporalio/client';
import { defaultPayloadConverter, WorkflowNotFoundError, type Payload } from '@temporalio/common';
import type { Published } from '../db/restore-counter.ts';
import { postWorkflowId } from '../workflows/messages.ts';
import { hasGrpcCode } from './connect.ts';

/** The newest run of a post's workflow, from its history. */
export type LatestRun = {
  readonly isRunning: boolean;
  /** Whether it scheduled attempts to publish the post on a channel, and some did not only wait for their turn. */
  readonly hasSent: boolean;
  /** The highest one that it was started or signalled with, before a cancel in the Temporal UI. */
  readonly revision: number;
  /**
   * `live`: the post ended, and is or may be on a network. `stopped`: the post was no longer to be sent after a send had
   * begun. `none`: everything else.
   */
  readonly end: 'live' | 'stopped' | 'none';
  readonly published: Published;
  readonly at: Date;
};

type Handle = ReturnType<Client['workflow']['getHandle']>;
type Event = NonNullable<Awaited<ReturnType<Handle['fetchHistory']>>['events']>[number];
type Described = Awaited<ReturnType<Handle['describe']>>;
type PendingActivity = NonNullable<Described['raw']['pendingActivities']>[number];

/**
 * Costs one request per thousand events, so only rare paths call it.
 *
 * @returns null if Temporal has no run of the post.
 * @throws ServiceError if Temporal is unavailable.
 */
export async function readLatestRun(client: Client, postId: string): Promise<LatestRun | null> {
  try {
    const handle = client.workflow.getHandle(postWorkflowId(postId));
    // Before the history, so that an attempt that begins in between counts.
    const { raw, status } = await handle.describe();
    const { events } = await handle.fetchHistory();
    const waiting = (raw.pendingActivities ?? []).filter(hasOnlyWaited);
    return latestRunOf(events ?? [], !endedStatuses.has(status.name), waiting.length);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || hasGrpcCode(error, 'notFound')) {
      return null;
    }

    throw error;
  }
}

/** PENDING_ACTIVITY_STATE_SCHEDULED: no attempt is under way. */
const resting = 1;

/** Whether the last attempt ended before it sent anything, and found that no earlier one had. */
const hasOnlyWaited = ({ state, lastFailure }: PendingActivity): boolean =>
  state === resting &&
  fieldsOf(lastFailure?.applicationFailureInfo?.details?.payloads).hasSent === false;

/** Every other status counts as running: paused by an operator, or added by a later version of Temporal. */
export const endedStatuses: ReadonlySet<string> = new Set([
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'TIMED_OUT',
]);

function latestRunOf(
  events: readonly Event[],
  isRunning: boolean,
  waiting: number,
): LatestRun | null {
  const last = events.at(-1);
  if (!last) {
    return null;
  }

  const attempted = events.filter((event) => Boolean(event.activityTaskScheduledEventAttributes));
  const hasSent = attempted.length > waiting;
  const cancel = events.findIndex((event) =>
    Boolean(event.workflowExecutionCancelRequestedEventAttributes),
  );
  const inputs = events
    .slice(0, cancel < 0 ? undefined : cancel)
    .map(
      (event) =>
        event.workflowExecutionStartedEventAttributes ??
        event.workflowExecutionSignaledEventAttributes,
    );
  return {
    isRunning,
    hasSent,
    revision: Math.max(0, ...inputs.map((attributes) => revisionIn(attributes?.input?.payloads))),
    end: endOf(last, hasSent),
    published: publishedIn(events),
    at: timeOf(last),
  };
}

const timeOf = ({ eventTime }: Event): Date =>
  new Date(Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6);

/** Results and failure types of `publishPost` after which the post is, or may be, on a network. */
const live: ReadonlySet<unknown> = new Set(['published', 'post_partial', 'post_unconfirmed']);

function endOf(last: Event, hasSent: boolean): LatestRun['end'] {
  const result = read(last.workflowExecutionCompletedEventAttributes?.result?.payloads);
  const failure = last.workflowExecutionFailedEventAttributes?.failure?.applicationFailureInfo;
  if (live.has(result) || live.has(failure?.type)) {
    return 'live';
  }

  const isStopped = result === 'stopped' || Boolean(last.workflowExecutionCanceledEventAttributes);
  return isStopped && hasSent ? 'stopped' : 'none';
}

function publishedIn(events: readonly Event[]): Published {
  const byId = new Map(events.map((event) => [String(event.eventId), event]));
  const results = events.flatMap(({ activityTaskCompletedEventAttributes: done }) => {
    const { status } = fieldsOf(done?.result?.payloads);
    const begun = byId.get(String(done?.scheduledEventId)) ?? {};
    const { input } = begun.activityTaskScheduledEventAttributes ?? {};
    const isLive = status === 'published' || status === 'unconfirmed';
    const known = { status, at: timeOf(begun).getTime() };
    return isLive ? [[fieldsOf(input?.payloads).postChannelId, known]] : [];
  });
  return Object.fromEntries(results);
}

/** Signals can be sent by hand, with anything in them. */
function revisionIn(payloads: Payloads): number {
  const { revision } = fieldsOf(payloads);
  return typeof revision === 'number' && Number.isInteger(revision) ? revision : 0;
}

type Payloads = readonly Payload[] | null | undefined;
type Fields = Readonly<
  Partial<Record<'revision' | 'postChannelId' | 'status' | 'hasSent', unknown>>
>;

const fieldsOf = (payloads: Payloads): Fields => (read(payloads) ?? {}) as Fields;

function read(payloads: Payloads): unknown {
  const [payload] = payloads ?? [];
  try {
    return payload && defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined;
  }
}
