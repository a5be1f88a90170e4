import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** How a server is reached by TLS: what Temporal's connections take. */
type ProbeTls = {
  readonly serverNameOverride?: string | undefined;
  readonly serverRootCACertificate?: Uint8Array | undefined;
  readonly clientCertPair?: { readonly crt: Uint8Array; readonly key: Uint8Array } | undefined;
};

/** `fine` says only that the connection as such is as it should be. */
type Probe = {
  readonly kind: 'fine' | 'unreachable' | 'speaks-no-tls' | 'speaks-tls' | 'refuses-tls';
  /** What the system or OpenSSL said. */
  readonly said: string;
};

/** In milliseconds. */
const patienceMs = 3000;

/**
 * Connects to a server that the operator named, once without and once with TLS, and sends it nothing: libraries of gRPC
 * do not say which of both is wrong.
 *
 * @param tls False where the connection is not encrypted.
 */
export async function probeServer(
  host: string,
  port: number,
  tls: ProbeTls | false,
): Promise<Probe> {
  const reached = await heard(connectPlain({ host, port }), 'connect');
  if (reached !== null) {
    return { kind: 'unreachable', said: reached };
  }

  const servername = (tls && tls.serverNameOverride) || host;
  const options = {
    host,
    port,
    servername: /^[\d.]+$|:/v.test(servername) ? '' : servername,
    ALPNProtocols: ['h2'],
  };
  if (tls === false) {
    // Nothing is sent: it only shows whether the server speaks TLS.
    const said = await heard(
      connectTls({ ...options, rejectUnauthorized: false }),
      'secureConnect',
    );
    return said === null ? { kind: 'speaks-tls', said: '' } : { kind: 'fine', said };
  }

  const { serverRootCACertificate: ca, clientCertPair } = tls;
  const own = {
    ...(ca ? { ca: Buffer.from(ca) } : {}),
    ...(clientCertPair
      ? { cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) }
      : {}),
  };
  // A server that wants a client's certificate says so after the handshake, where another one sends its settings.
  const said = await heard(connectTls({ ...options, ...own }), 'data');
  if (said === null || said === silence) {
    return { kind: 'fine', said: '' };
  }

  return {
    kind: /wrong version number|packet length/iv.test(said) ? 'speaks-no-tls' : 'refuses-tls',
    said,
  };
}

const silence = 'no answer';

/** @returns null when it was heard; otherwise what went wrong. */
function heard(socket: Socket, event: string): Promise<string | null> {
  return new Promise((resolve) => {
    const end = (said: string | null): void => {
      socket.destroy();
      resolve(said);
    };
    socket.setTimeout(patienceMs, () => end(silence));
    socket.once(event, () => end(null));
    socket.once('close', () => end('the connection was closed'));
    socket.once('error', (error: Error & { readonly code?: string; readonly reason?: string }) =>
      // Node adds advice about its own options.
      end(
        (error.reason ?? (error.message || error.code || 'an unknown error')).split(';')[0] ?? '',
      ),
    );
  });
}
