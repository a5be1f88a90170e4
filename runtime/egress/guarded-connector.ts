import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { parseAddress } from './address.ts';
import { dialFirst, type Dial, type Outcome } from './dial-first.ts';
import { egressError, toEgressError } from './egress-failure.ts';
import { EgressError } from './egress.ts';
import { findAddresses, type Guard } from './find-addresses.ts';
import { judgeAddress } from './judge-target.ts';
import { passContinue } from './pass-continue.ts';
import type { Target } from './target.ts';

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
    // In the same tick as the connection: what arrived before the request would make undici dial again and again.
    const finish = (outcome: Outcome) =>
      outcome instanceof Error ? fail(outcome) : callback(null, passContinue(outcome));

    // `host` stays the name, so the certificate must still be for it.
    const dial: Dial = (address, settle) =>
      connect({ ...options, hostname: address.text }, (error, socket) => {
        if (error) {
          settle(error);
          return;
        }

        const problem = judgeSocket(socket, target, guard);
        if (problem) {
          socket.on('error', () => {}).destroy();
        }

        settle(problem ?? socket);
      });

    findAddresses(target, guard)
      .then((addresses) => dialFirst(addresses, dial, finish))
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

  const refusal = judgeAddress(target, remote, guard);
  return refusal === null
    ? null
    : new EgressError('blocked_destination', refusal, { maybeSent: false });
}
