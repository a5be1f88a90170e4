import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { parseAddress } from './address.ts';
import { connectToFirst, type Dial, type DialOutcome } from './connect-to-first.ts';
import { blocked, egressError, toEgressError, type EgressError } from './egress-error.ts';
import { findAddresses, type EgressGuard } from './find-addresses.ts';
import { addressProblem } from './target-policy.ts';
import type { RequestTarget } from './target.ts';

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
      outcome instanceof Error ? fail(outcome) : callback(null, passContinue(outcome));

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

const announcement = /^HTTP\/1\.[01] (1\d\d)(?=[ \r])/v;

/** Index of the status code's last digit in such a line. */
const lastDigit = 'HTTP/1.1 10'.length;

/**
 * Renames an unrequested `100 Continue` to `103`. Some proxies send it before every response, and undici closes the
 * connection, although RFC 9110 (section 15.2) requires clients to ignore it.
 *
 * Only looks at the first data after a request was written, and only at whole status lines: they are sent in one piece.
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

/** Renames each `100` among the leading 1xx responses. @returns whether nothing follows them yet. */
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
