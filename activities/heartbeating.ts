import { heartbeat } from '@temporalio/activity';

/** In milliseconds; below a third of the activity's heartbeatTimeout. */
const intervalMs = 5000;

/**
 * Heartbeats every 5 s while the work runs, so that Temporal notices a dead worker soon.
 *
 * @param details What the next attempt reads, as `heartbeatDetails`.
 */
export async function heartbeating<T>(work: () => Promise<T>, details?: object): Promise<T> {
  const timer = setInterval(() => heartbeat(details), intervalMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
