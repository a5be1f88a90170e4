import { heartbeat } from '@temporalio/activity';

/** In milliseconds; below a third of the activity's heartbeatTimeout. */
const intervalMs = 5000;

/** Tells Temporal every few seconds that this worker lives, so that the death of one is noticed soon. */
export async function heartbeating<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => heartbeat(), intervalMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
