import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { parseAddress } from './address.ts';
import { dialFirst, type Dial, type Outcome } from './dial-first.ts';
import { blocked, egressError, toEgressError, type EgressError } from './egress-error.ts';
import { findAddresses, type Guard } from './find-addresses.ts';
import { addressProblem } from './target-policy.ts';
import type { Target } from './target.ts';

/**
 * A connector for undici that reaches only what the guard lets through.
 *
 * The guard sits here and not in a `lookup` hook, because Node asks no hook for an address literal. `connect` gets
 * nothing but addresses that were checked, so no second look at DNS can lead elsewhere, and the address that it connected
 * to is checked once more. Its errors are all `EgressError`s: undici reconnects without end on some codes of its own.
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

        const problem = checkSocket(socket, target, guard);
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

function checkSocket(socket: Socket, target: Target, guard: Guard): EgressError | null {
  const remote = parseAddress(socket.remoteAddress ?? '');
  if (!remote || socket.destroyed) {
    return egressError('connection_reset', { maybeSent: false });
  }

  const refusal = addressProblem(target, remote, guard);
  return refusal === null ? null : blocked(refusal);
}

const announcement = /^HTTP\/1\.[01] (1\d\d)(?=[ \r])/v;

/** Of the last digit of the status in such a line. */
const lastDigit = 'HTTP/1.1 10'.length;

/**
 * Lets undici pass over a `100 Continue` that was not asked for, as it does with other statuses that only announce the
 * answer and as RFC 9110 (section 15.2) wants: it takes one for the end of the connection, while some proxies send it
 * before every answer. So it reads `103` instead.
 *
 * Looks only at what comes first after a request was written, and only at whole status lines: they are sent in one
 * piece.
 */
function passContinue(socket: Socket): Socket {
  const read = socket.read.bind(socket);
  let answeredBytes = -1;
  socket.read = (size) => {
    const chunk: unknown = read(size);
    if (Buffer.isBuffer(chunk) && socket.bytesWritten > answeredBytes && !isAnnouncement(chunk)) {
      answeredBytes = socket.bytesWritten;
    }

    return chunk;
  };
  return socket;
}

/** Renames each `100` among the announcements at the beginning. @returns whether nothing comes after them yet. */
function isAnnouncement(chunk: Buffer): boolean {
  let from = 0;
  while (from < chunk.length) {
    const [, status] = announcement.exec(chunk.toString('latin1', from, from + 13)) ?? [];
    const end = chunk.indexOf('\r\n\r\n', from);
    if (status === '100') {
      chunk.write('3', from + lastDigit, 'latin1');
    }

    if (status === undefined || end === -1) {
      return false;
    }

    from = end + 4;
  }

  return true;
}
