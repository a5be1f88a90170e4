import { NetworkError, type Connection } from '../../networks/network.ts';
import { openConnection, openedGrant } from '../account/connection.ts';
import { judgeRefusal } from '../account/refused-token.ts';
import type { ActivityDeps } from '../deps.ts';
import type { ReadAccount } from './load-account.ts';

/** For one call of an adapter, in milliseconds, over all its requests: a channel that hangs is left alone after it. */
export const askTimeoutMs = 60_000;

type Asking = {
  readonly deps: ActivityDeps;
  readonly account: ReadAccount;
  /** Aborts when the worker stops. */
  readonly stopped: AbortSignal;
  readonly timeoutMs: number;
};

/**
 * Asks a network something by the account of a channel, and waits no longer than for the time of one call, whatever the
 * adapter does.
 *
 * @throws NetworkError @throws NewTokenError when the channel has a newer access token than the one that was refused.
 */
export async function askNetwork<T>(
  { deps, account, stopped, timeoutMs }: Asking,
  ask: (connection: Connection) => T | Promise<T>,
): Promise<T> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(timeoutMs)]);
  const current = await openedGrant(deps, account);
  const connection = openConnection(deps, account, {
    grant: current?.grant ?? null,
    signal,
    uploadsOf: () => null,
    saveUploads: async () => undefined,
    mayCreate: () => false,
  });
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(noAnswer());
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([ask(connection), overdue]);
  } catch (error) {
    throw await judgeRefusal(deps, account, current, error);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

const noAnswer = (): NetworkError =>
  new NetworkError('network_unavailable', 'The network did not answer in time.', { taken: 'no' });
