import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { listening } from './listening.ts';

export type Received = {
  readonly headers: IncomingHttpHeaders;
  /** The raw bytes, as text. */
  readonly body: string;
};

export type Receiver = {
  readonly url: string;
  readonly port: number;
  readonly received: readonly Received[];
  /** Resolves with the nth request, counted from 1. */
  nth(n: number): Promise<Received>;
};

/** A webhook receiver on a real socket. Answers 204 by default. */
export async function startReceiver(
  t: ExecutionContext,
  answer: (n: number) => number = () => 204,
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((bytes) => {
      received.push({ headers: request.headers, body: bytes.toString('utf8') });
      response.writeHead(answer(received.length)).end();
      server.emit('received');
    });
  });
  const port = await listening(t, server);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    nth: async (n) => {
      while (received.length < n) {
        await once(server, 'received', { signal: AbortSignal.timeout(100_000) });
      }

      return received[n - 1] as Received;
    },
  };
}

/**
 * Whether a request's signature is right. Follows docs/guides/webhooks.md with the Web Crypto API, without any of the sender's
 * code.
 */
export async function isSignedWith(secret: string, { headers, body }: Received): Promise<boolean> {
  const utf8 = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', utf8.encode(secret), algorithm, false, [
    'verify',
  ]);
  const hex = String(headers['service-signature']).replace(/^sha256=/v, '');
  return crypto.subtle.verify(
    'HMAC',
    key,
    Uint8Array.from(hex.match(/../gv) ?? [], (byte) => Number.parseInt(byte, 16)),
    utf8.encode(`${String(headers['service-timestamp'])}.${body}`),
  );
}
