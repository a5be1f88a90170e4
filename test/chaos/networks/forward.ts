import { once } from 'node:events';
import {
  request as httpRequest,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LineRequest } from './line-platform.ts';

export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** The server behind a line. */
export type Server = {
  readonly url: string;
  /** Whether it uses the line's address as its own, so that upload addresses also lead through the line. */
  readonly isAtLine: boolean;
};

/** A request body, complete or broken off. */
export type Arrived = { readonly bytes: Buffer; readonly isComplete: boolean };

/** Reads a body to its end, or until its sender is gone. */
export async function arrive(incoming: IncomingMessage): Promise<Arrived> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of incoming) {
      chunks.push(chunk as Buffer);
    }
  } catch {
    return { bytes: Buffer.concat(chunks), isComplete: false };
  }

  return { bytes: Buffer.concat(chunks), isComplete: true };
}

/** Continues after the client has gone: bytes that were sent arrive. */
export async function forward(server: Server, asked: LineRequest, bytes: Buffer): Promise<Answer> {
  const request = open(server, asked);
  request.end(bytes);
  const [answered]: IncomingMessage[] = await once(request, 'response');
  if (!answered) {
    throw new Error('The network closed the connection without a response.');
  }

  const { statusCode: status = 502, headers } = answered;
  return { status, headers, body: await buffer(answered) };
}

/** Long enough for the server to read the sent bytes, in milliseconds. */
const readsWithinMs = 100;

/** Sends only the beginning of a request and breaks off. */
export async function forwardBeginning(
  server: Server,
  asked: LineRequest,
  bytes: Buffer,
): Promise<void> {
  const request = open(server, asked);
  request.on('error', () => undefined);
  request.write(bytes);
  await sleep(readsWithinMs);
  request.destroy();
}

function open({ url, isAtLine }: Server, { method, path, headers }: LineRequest): ClientRequest {
  const server = new URL(url);
  const host = isAtLine ? String(headers['host']) : server.host;
  return httpRequest(new URL(path, server), {
    method,
    headers: { ...headers, host, connection: 'close' },
  });
}
