import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

type ProbeTls = {
  readonly serverNameOverride?: string | undefined;
  readonly serverRootCACertificate?: Uint8Array | undefined;
  readonly clientCertPair?: { readonly crt: Uint8Array; readonly key: Uint8Array } | undefined;
};

/** `fine` only means that a connection can be made, with or without TLS as requested. */
type Probe = {
  readonly kind: 'fine' | 'unreachable' | 'speaks-no-tls' | 'speaks-tls' | 'refuses-tls';
  /** Message of the system or of OpenSSL. */
  readonly said: string;
};

const patienceMs = 3000;

/** Connects without and with TLS and sends nothing, because gRPC libraries do not report which of both failed. */
export async function probeServer(
  host: string,
  port: number,
  tls: ProbeTls | false,
): Promise<Probe> {
  const reached = await failureBefore('connect', connectPlain({ host, port }));
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
    // Sends nothing: only shows whether the server speaks TLS.
    const said = await failureBefore(
      'secureConnect',
      connectTls({ ...options, rejectUnauthorized: false }),
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
  // A server that requires a client certificate reports it after the handshake, where other servers send their
  // settings.
  const said = await failureBefore('data', connectTls({ ...options, ...own }));
  if (said === null || said === silence) {
    return { kind: 'fine', said: '' };
  }

  // A load balancer without a healthy server closes the connection. A TLS refusal comes with an alert.
  if (said === closed) {
    return { kind: 'unreachable', said };
  }

  return {
    kind: /wrong version number|packet length/iv.test(said) ? 'speaks-no-tls' : 'refuses-tls',
    said,
  };
}

type SocketError = { readonly code?: string; readonly reason?: string };

const silence = 'no answer';
const closed = 'the connection was closed';

/** @returns null when the event comes, otherwise the failure before it. */
function failureBefore(event: string, socket: Socket): Promise<string | null> {
  return new Promise((resolve) => {
    const end = (said: string | null): void => {
      socket.destroy();
      resolve(said);
    };
    socket.setTimeout(patienceMs, () => end(silence));
    socket.once(event, () => end(null));
    socket.once('close', () => end(closed));
    socket.once('error', ({ code = '', message, ...rest }: Error & SocketError) => {
      // Node appends advice about its own options.
      const [said = ''] = (rest.reason ?? (message || code || 'an unknown error')).split(';');
      end(code === 'ECONNRESET' ? closed : said);
    });
  });
}
