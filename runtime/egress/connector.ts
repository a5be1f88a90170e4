import { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { parseAddress, type Address } from './addresses.ts';
import { findAddresses, type EgressGuard } from './destination.ts';
import { blocked, egressError, toEgressError, type EgressError } from './egress.ts';
import { addressProblem, type RequestTarget } from './target.ts';

/**
 * A connector for undici that only reaches addresses that the guard allows.
 *
 * The guard is here and not in a `lookup` hook, because Node skips the hook for an address literal. `connect` only gets
 * checked addresses, so a second DNS lookup cannot lead elsewhere, and the connected address is checked once more. All
 * its errors are `EgressError`s, because undici reconnects endlessly on some of its own codes.
 *
 * @param connect Dials `hostname`, which is an address, and takes the TLS name from `host`.
 */
export function guardConnector(
  guard: EgressGuard,
  connect: buildConnector.connector,
): buildConnector.connector {
  return (options, callback) => {
    const target = targetOf(options);
    const fail = (error: unknown) => callback(toEgressError(error, { maybeSent: false }), null);
    // In the same tick as the connection: undici dials again and again when data arrives before the request.
    const finish = (outcome: DialOutcome) =>
      outcome instanceof Error ? fail(outcome) : callback(null, outcome);

    // `host` keeps the name, so the certificate is verified for the name.
    const dial: Dial = (address, settle) =>
      connect({ ...options, hostname: address.text }, (error, socket) => {
        if (error) {
          settle(error);
          return;
        }

        const problem = checkSocket(socket, target, guard);
        if (problem) {
          socket.on('error', () => {}).destroy();
        }

        settle(problem ?? socket);
      });

    findAddresses(target, guard)
      .then((addresses) => connectToFirst(addresses, dial, finish))
      .catch(fail);
  };
}

function targetOf({ protocol, hostname, port }: buildConnector.Options): RequestTarget {
  const secure = protocol === 'https:';
  return {
    secure,
    host: hostname,
    address: parseAddress(hostname),
    port: port === '' ? (secure ? 443 : 80) : Number(port),
  };
}

function checkSocket(
  socket: Socket,
  target: RequestTarget,
  guard: EgressGuard,
): EgressError | null {
  const remote = parseAddress(socket.remoteAddress ?? '');
  if (!remote || socket.destroyed) {
    return egressError('connection_reset', { maybeSent: false });
  }

  const refusal = addressProblem(target, remote, guard);
  return refusal === null ? null : blocked(refusal);
}

/** Delay before the next address is tried in parallel (RFC 8305, section 5). */
const attemptDelayMs = 250;

/** The most addresses dialled for one connection; a name's owner may publish any number. */
const mostDialled = 8;

type DialOutcome = Socket | Error;

/** Starts a connection to one address. May return the connecting socket, so that an unwanted attempt can be closed. */
type Dial = (address: Address, settle: (outcome: DialOutcome) => void) => unknown;

/**
 * Connects to the first address that accepts (RFC 8305, "happy eyeballs"). Families alternate; the next address starts
 * 250 ms after the previous one, or as soon as that one fails. The other sockets are closed.
 *
 * @param done Gets the socket in the tick in which it connects, or the first failure. A blocked address ends all
 * attempts.
 */
function connectToFirst(
  addresses: readonly Address[],
  dial: Dial,
  done: (outcome: DialOutcome) => void,
): void {
  const waiting = alternateFamilies(addresses).slice(0, mostDialled);
  const connecting = new Set<Socket>();
  const failures: Error[] = [];
  let underWay = 0;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  const end = (outcome: DialOutcome) => {
    isOver = true;
    clearTimeout(timer);
    for (const socket of connecting) {
      if (socket !== outcome) {
        close(socket);
      }
    }

    done(outcome);
  };

  const settle = (outcome: DialOutcome) => {
    underWay -= 1;
    if (isOver) {
      close(outcome);
      return;
    }

    if (!(outcome instanceof Error) || isBlocked(outcome)) {
      end(outcome);
      return;
    }

    failures.push(outcome);
    if (waiting.length > 0) {
      next();
    } else if (underWay === 0) {
      end(failures[0] ?? outcome);
    }
  };

  const next = () => {
    clearTimeout(timer);
    const address = waiting.shift();
    if (address) {
      underWay += 1;
      timer = waiting.length > 0 ? setTimeout(next, attemptDelayMs) : undefined;
      const socket = dial(address, settle);
      if (socket instanceof Socket) {
        connecting.add(socket);
      }
    }
  };
  next();
}

/** Alternates the families, starting with the first address's; each keeps its order (RFC 8305, section 4). */
function alternateFamilies(addresses: readonly Address[]): Address[] {
  const family = addresses[0]?.family;
  const [preferred, others] = [
    addresses.filter((address) => address.family === family),
    addresses.filter((address) => address.family !== family),
  ];
  return addresses.flatMap((_, turn) =>
    [preferred[turn], others[turn]].filter((address) => address !== undefined),
  );
}

const isBlocked = (error: Error): boolean =>
  toEgressError(error, { maybeSent: false }).code === 'blocked_destination';

/** Unused socket: its errors are ignored. */
function close(outcome: DialOutcome): void {
  if (outcome instanceof Socket) {
    outcome.on('error', () => {}).destroy(new Error('Another address was faster.'));
  }
}
