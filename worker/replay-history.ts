import { DeterminismViolationError } from '@temporalio/workflow';
import { Worker, type ReplayResult, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import type { History } from '@temporalio/common/lib/proto-utils.js';

/** Result of replaying a history under the current workflow code. */
export type Replayed =
  | { readonly kind: 'replays' }
  /** The code emits other commands than the history has. */
  | { readonly kind: 'diverges'; readonly eventId: number; readonly message: string }
  /** The code threw an error. */
  | { readonly kind: 'fails'; readonly eventId: number; readonly message: string };

type Failed = Exclude<Replayed, { kind: 'replays' }>;

/**
 * Replays a history under a bundle's workflow code, and finds the first event that diverges. Temporal does not always
 * name it, but the replay fails as soon as the history contains it, so a binary search finds it.
 *
 * @param history Events must be numbered from 1 without a gap, or the SDK's native part aborts.
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
  // A history without a completed workflow task cannot be replayed: Temporal would wait for more events.
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

/** Temporal's error contains the message in a debug dump. */
const quoted = /message: "(?<message>(?:[^"\\]|\\.)*)"/v;

function failureOf(error: NonNullable<ReplayResult['error']>, eventId: number): Failed {
  const diverges = error instanceof DeterminismViolationError;
  const message = quoted.exec(error.message)?.groups?.['message'] ?? error.message;
  return { kind: diverges ? 'diverges' : 'fails', eventId, message };
}
