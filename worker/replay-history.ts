import { DeterminismViolationError } from '@temporalio/workflow';
import { Worker, type ReplayResult, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import type { History } from '@temporalio/common/lib/proto-utils.js';

/** How a history replays under the workflow code as it is now. */
export type Replayed =
  | { readonly kind: 'replays' }
  /** The code does something else than it did. */
  | { readonly kind: 'diverges'; readonly eventId: number; readonly message: string }
  /** The code broke off with an error of its own. */
  | { readonly kind: 'fails'; readonly eventId: number; readonly message: string };

type Failed = Exclude<Replayed, { kind: 'replays' }>;

/**
 * Replays a history under the workflow code of a bundle, and finds the event at which they part. Temporal itself does
 * not always name it; but as soon as a history is long enough to hold it, the replay fails, so halving finds it.
 *
 * @param history Its events are numbered from 1 without a gap: Temporal's native part dies of others.
 */
export async function replayHistory(
  workflowBundle: WorkflowBundleWithSourceMap,
  history: History,
  workflowId: string,
): Promise<Replayed> {
  const events = history.events ?? [];
  const attempt = async (count: number): Promise<Failed | undefined> => {
    const part = [{ workflowId, history: { events: events.slice(0, count) } }];
    for await (const { error } of Worker.runReplayHistories({ workflowBundle }, part)) {
      return error && failureOf(error, count);
    }

    throw new Error('Temporal replayed nothing.');
  };
  // Before the first task is done there is nothing to replay: Temporal would wait for more.
  let good = events.findIndex((event) => event.workflowTaskCompletedEventAttributes) + 1;
  let failure = good === 0 ? undefined : await attempt(events.length);
  if (!failure) {
    return { kind: 'replays' };
  }

  while (failure.eventId - good > 1) {
    const middle = Math.floor((good + failure.eventId) / 2);
    const earlier = await attempt(middle);
    failure = earlier ?? failure;
    good = earlier ? good : middle;
  }

  return failure;
}

/** Temporal quotes the message in a dump of its own structures. */
const quoted = /message: "(?<message>(?:[^"\\]|\\.)*)"/v;

function failureOf(error: NonNullable<ReplayResult['error']>, eventId: number): Failed {
  const diverges = error instanceof DeterminismViolationError;
  const message = quoted.exec(error.message)?.groups?.['message'] ?? error.message;
  return { kind: diverges ? 'diverges' : 'fails', eventId, message };
}
