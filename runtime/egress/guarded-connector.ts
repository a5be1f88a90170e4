import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { parseAddress, type Address } from './address.ts';
import { egressError, toEgressError } from './egress-failure.ts';
import { EgressError } from './egress.ts';
import { findAddresses, type Guard } from './find-addresses.ts';
import { judgeAddress } from './judge-target.ts';
import type { Target } from './target.ts';

/** How many of a name's addresses are tried, one after the other, before the connection is given up. */
const maxTries = 2;

/**
 * A connector for undici that reaches only what the guard lets through.
 *
 * The guard sits here and not in a `lookup` hook, because Node asks no hook for an address literal. `connect` gets
 * nothing but addresses that were judged, so no second look at DNS can lead elsewhere, and what it connected to is
 * judged once more. Its errors are all `EgressError`s: undici reconnects without end on some codes of its own.
 *
 * @param connect Dials `hostname`, which is an address, and takes the TLS name from `host`.
 */
export function guardConnector(
  guard: Guard,
  connect: buildConnector.connector,
): buildConnector.connector {
  return (options, callback) => {
    const target = targetOf(options);
    const fail = (error: unknown) => callback(toEgressError(error, { maybeSent: false }), null);

    const dial = ([address, ...others]: readonly Address[]) => {
      if (!address) {
        throw new Error('There is no address to dial.');
      }

      // `host` stays the name, so the certificate must still be for it.
      connect({ ...options, hostname: address.text }, (error, socket) => {
        if (error) {
          return others.length > 0 && isUnreachable(error) ? dial(others) : fail(error);
        }

        const problem = judgeSocket(socket, target, guard);
        if (problem) {
          socket.on('error', () => {}).destroy();
          return fail(problem);
        }

        // In the same tick as the connection: what arrived before the request would make undici dial again and again.
        callback(null, socket);
      });
    };

    findAddresses(target, guard)
      .then((addresses) => dial(addresses.slice(0, maxTries)))
      .catch(fail);
  };
}

function targetOf({ protocol, hostname, port }: buildConnector.Options): Target {
  const secure = protocol === 'https:';
  return {
    secure,
    host: hostname,
    address: parseAddress(hostname),
    port: port === '' ? (secure ? 443 : 80) : Number(port),
  };
}

function judgeSocket(socket: Socket, target: Target, guard: Guard): EgressError | null {
  const remote = parseAddress(socket.remoteAddress ?? '');
  if (!remote || socket.destroyed) {
    return egressError('connection_reset', { maybeSent: false });
  }

  const refusal = judgeAddress(target, remote, guard.allow);
  return refusal === null
    ? null
    : new EgressError('blocked_destination', refusal, { maybeSent: false });
}

const isUnreachable = (error: Error): boolean =>
  ['connection_refused', 'timeout'].includes(toEgressError(error, { maybeSent: false }).code);
