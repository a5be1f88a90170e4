import { setTimeout as sleep } from 'node:timers/promises';
import { NetworkError } from '../network.ts';

/** Waits between two checks where the network names none, in milliseconds. */
const [firstWaitMs, usualWaitMs] = [500, 5000];

/** Bounds of a wait that the network names, in milliseconds. One that exceeds the attempt's time ends the attempt. */
const [shortestWaitMs, longestWaitMs] = [250, 10 * 60_000];

/** `done`: the result, absent while the network is processing the file. `askInMs`: the wait that it names. */
type Processing<T> = { readonly done?: T; readonly askInMs?: number };

type Waiting = {
  readonly network: string;
  readonly fileName: string;
  /** Upload and wait must fit into one attempt. */
  readonly patienceMs: number;
  readonly signal: AbortSignal | undefined;
  /** Whether an attempt that ends during the wait counts. */
  readonly hasProgressed?: boolean;
};

/**
 * Waits until a network has processed a file. Earlier it refuses the post, or accepts it and never shows it.
 *
 * @throws NetworkError `network_unavailable` at the end of the patience or the attempt; the next attempt continues to
 *   wait. Also what `ask` throws.
 */
export async function untilProcessed<T>(
  { network, fileName, patienceMs, signal, hasProgressed = false }: Waiting,
  ask: () => Promise<Processing<T>>,
): Promise<T> {
  const giveUpAtMs = Date.now() + patienceMs;
  for (let nextMs = firstWaitMs; ; nextMs = Math.min(nextMs * 2, usualWaitMs)) {
    const { done, askInMs } = await ask();
    if (done !== undefined) {
      return done;
    }

    const waitMs = Math.min(Math.max(askInMs ?? nextMs, shortestWaitMs), longestWaitMs);
    const isOver = Date.now() + waitMs > giveUpAtMs;
    if (isOver || !(await sleep(waitMs, true, { signal }).catch(() => false))) {
      const message = `${network} is still processing the file "${fileName}".`;
      throw new NetworkError('network_unavailable', message, {
        accepted: 'no',
        ...(askInMs !== undefined && { retryAtMs: Date.now() + waitMs }),
        server: 'answered',
        hasProgressed,
      });
    }
  }
}
