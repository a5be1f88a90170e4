import { NetworkError, type Connection } from '../../networks/network.ts';
import { openConnection, openedGrant } from '../account/connection.ts';
import { classifyTokenRefusal } from '../account/refused-token.ts';
import type { ActivityDeps } from '../deps.ts';
import type { ReadAccount } from './load-account.ts';

/** In milliseconds, for all requests of one adapter call. A channel that hangs is skipped after it. */
export const askTimeoutMs = 60_000;

type Asking = {
  readonly deps: ActivityDeps;
  readonly account: ReadAccount;
  /** Aborts when the worker stops. */
  readonly stopped: AbortSignal;
  readonly timeoutMs: number;
};

/**
 * Calls a network with the account of a channel, and returns after `timeoutMs` even if the adapter does not.
 *
 * @throws NetworkError @throws NewTokenError if the channel has a newer access token than the refused one.
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
    throw await classifyTokenRefusal(deps, account, current, error);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

const noAnswer = (): NetworkError =>
  new NetworkError('network_unavailable', 'The network did not answer in time.', {
    accepted: 'no',
  });
