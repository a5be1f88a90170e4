import { heartbeat } from '@temporalio/activity';

/** In milliseconds; below a third of the activity's heartbeatTimeout. */
const intervalMs = 5000;

/**
 * Tells Temporal every few seconds that this worker lives, so that the death of one is noticed soon.
 *
 * @param also What else is to be done as long as it lives. It may fail.
 */
export async function heartbeating<T>(
  work: () => Promise<T>,
  also: () => Promise<void> = async () => undefined,
): Promise<T> {
  const timer = setInterval(() => {
    heartbeat();
    also().catch(() => undefined);
  }, intervalMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
