import type { Socket } from 'node:net';
import { buildConnector, errors } from 'undici';
import { parseAddress, type Address } from './addresses.ts';
import { findAddresses, type EgressGuard } from './destination.ts';
import { blocked, egressError, toEgressError, type EgressError } from './egress.ts';
import { addressProblem, type RequestTarget } from './target.ts';

/** Makes a connector that dials one of these addresses, whatever the name in its options. */
export type ConnectTo = (addresses: readonly Address[]) => buildConnector.connector;

/** The most addresses dialled for one connection; a name's owner may publish any number. */
const mostDialled = 8;

/**
 * A connector for undici that only reaches addresses that the guard allows. It dials the addresses that were checked,
 * so a second DNS lookup cannot lead elsewhere, and checks the connected address once more. A `lookup` hook alone would
 * not do, because Node skips it for an address literal.
 *
 * All its errors are `EgressError`s, because undici reconnects endlessly on some of its own codes.
 */
export function guardConnector(guard: EgressGuard, connectTo: ConnectTo): buildConnector.connector {
  return (options, callback) => {
    const target = targetOf(options);
    const fail = (error: unknown) => callback(toEgressError(error, { maybeSent: false }), null);
    const dial = (addresses: readonly Address[]) => {
      const [first, second] = addresses;
      // `host` keeps the name, so the certificate is verified for the name.
      const hostname = first && !second ? first.text : options.hostname;
      const connect = connectTo(addresses.slice(0, mostDialled));
      // Answers in the tick of the connection: undici dials again when data arrives before the request.
      connect({ ...options, hostname }, (error, socket) => {
        if (error) {
          fail(error);
          return;
        }

        const problem = checkSocket(socket, target, guard);
        if (problem) {
          socket.on('error', () => {}).destroy();
          fail(problem);
        } else {
          endFlood(socket);
          callback(null, socket);
        }
      });
    };
    findAddresses(target, guard).then(dial).catch(fail);
  };
}

/**
 * Connects to the first address that accepts: Node alternates the families, and tries the next address when one fails
 * or is silent.
 *
 * @param ca For tests: the only CA to trust, in PEM.
 */
export const connectToFirst =
  (ca: string | undefined): ConnectTo =>
  (addresses) =>
    buildConnector({
      // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 cannot disable it.
      rejectUnauthorized: true,
      allowH2: false,
      timeout: 5000,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: 2500, // A lost SYN is sent again after a second.
      lookup: (_name, _options, done) =>
        done(
          null,
          addresses.map(({ text, family }) => ({ address: text, family })),
        ),
      ...(ca ? { ca } : {}),
    });

function targetOf({ protocol, hostname, port }: buildConnector.Options): RequestTarget {
  const secure = protocol === 'https:';
  return {
    secure,
    host: hostname,
    address: parseAddress(hostname),
    port: port === '' ? (secure ? 443 : 80) : Number(port),
  };
}

/** In bytes. More than a file of 200 MB, or all answers on a kept connection, which takes no new request after a minute. */
const mostRead = 256 * 1024 * 1024;

/** In bytes. After an overflow of headers, undici still parses all that it has read: 60 ms for 64 KB. */
const readAtOnce = 8192;

/** Ends connections with endless chunk extensions, which undici reads without a limit, or with endless headers. */
function endFlood(socket: Socket): void {
  const read = socket.read.bind(socket);
  socket.read = (size) => {
    // undici reads the rest of a closed connection only once.
    const most = socket.destroyed || socket.readableLength < readAtOnce ? undefined : readAtOnce;
    return socket.errored instanceof errors.HeadersOverflowError ? null : read(size ?? most);
  };
  socket.on('readable', () => {
    if (socket.bytesRead > mostRead) {
      socket.destroy();
    }
  });
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
