import type { Temporal } from '../../temporal/connect.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { quantile } from '../runner/quantile.ts';
import type { SeededPost } from '../runner/seed-posts.ts';

/** The steps of a post's workflow in order, from the events of its history. */
const steps = [
  'timer fired',
  'first task started',
  'first task completed',
  'activity started',
  'activity completed',
  'last task started',
  'workflow completed',
] as const;

type Step = (typeof steps)[number];

/** The times of the steps, in milliseconds since 1970. */
type Moments = Partial<Record<Step, number>>;

/**
 * Summarizes how long after the burst's due time each step of some workflows came.
 *
 * @returns lines to print.
 */
export async function summarizeHistories(
  { client }: Temporal,
  posts: readonly SeededPost[],
  dueMs: number,
): Promise<string[]> {
  const all: Moments[] = [];
  let timedOut = 0;
  for (const { postId } of posts) {
    const { events } = await client.workflow.getHandle(postWorkflowId(postId)).fetchHistory();
    all.push(momentsOf(events ?? []));
    timedOut += (events ?? []).filter((event) => event.workflowTaskTimedOutEventAttributes).length;
  }

  const lines = steps.map((step) => {
    const after = all.flatMap((moments) => (moments[step] ? [moments[step] - dueMs] : []));
    const [first, median, last] = [0, 0.5, 1].map((share) =>
      after.length === 0 ? '-' : `${(quantile(after, share) / 1000).toFixed(2)} s`,
    );
    return `  ${step.padEnd(22)} ${String(after.length).padStart(5)} of ${posts.length}   first ${first}, median ${median}, last ${last}`;
  });
  return [
    ...lines,
    `  ${timedOut} tasks waited for a second in their worker's sticky queue, and moved to the shared queue`,
  ];
}

type Event = {
  readonly eventTime?: { readonly seconds?: unknown; readonly nanos?: number | null } | null;
  readonly timerFiredEventAttributes?: unknown;
  readonly workflowTaskStartedEventAttributes?: unknown;
  readonly workflowTaskCompletedEventAttributes?: unknown;
  readonly activityTaskStartedEventAttributes?: unknown;
  readonly activityTaskCompletedEventAttributes?: unknown;
  readonly workflowExecutionCompletedEventAttributes?: unknown;
};

function momentsOf(events: readonly Event[]): Moments {
  const moments: Moments = {};
  for (const event of events) {
    const step = stepOf(event, moments);
    if (step) {
      moments[step] ??=
        Number(event.eventTime?.seconds) * 1000 + (event.eventTime?.nanos ?? 0) / 1e6;
    }
  }

  return moments;
}

function stepOf(
  event: Event,
  { 'timer fired': fired, 'activity completed': done }: Moments,
): Step | null {
  if (event.timerFiredEventAttributes) {
    return 'timer fired';
  }

  if (event.activityTaskStartedEventAttributes) {
    return 'activity started';
  }

  if (event.activityTaskCompletedEventAttributes) {
    return 'activity completed';
  }

  if (event.workflowExecutionCompletedEventAttributes) {
    return 'workflow completed';
  }

  if (fired === undefined) {
    return null; // The task before the timer.
  }

  if (event.workflowTaskStartedEventAttributes) {
    return done === undefined ? 'first task started' : 'last task started';
  }

  return event.workflowTaskCompletedEventAttributes && done === undefined
    ? 'first task completed'
    : null;
}
