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

/** Where a line ends. */
export type Server = {
  readonly url: string;
  /**
   * Whether it takes the line's address for its own, so that what it names (the address of an upload) is reached by way
   * of the line too.
   */
  readonly isAtLine: boolean;
};

/** The request as it was read, whole or broken off. */
export type Arrived = { readonly bytes: Buffer; readonly isWhole: boolean };

/** Reads a body to its end, or until its sender is gone. */
export async function arrive(incoming: IncomingMessage): Promise<Arrived> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of incoming) {
      chunks.push(chunk as Buffer);
    }
  } catch {
    return { bytes: Buffer.concat(chunks), isWhole: false };
  }

  return { bytes: Buffer.concat(chunks), isWhole: true };
}

/** Goes on when the client has given up: what has left arrives. */
export async function forward(server: Server, asked: LineRequest, bytes: Buffer): Promise<Answer> {
  const request = open(server, asked);
  request.end(bytes);
  const [answered]: IncomingMessage[] = await once(request, 'response');
  if (!answered) {
    throw new Error('The network gave no answer.');
  }

  const { statusCode: status = 502, headers } = answered;
  return { status, headers, body: await buffer(answered) };
}

/** Long enough for the server to read what has come, in milliseconds. */
const readsWithinMs = 100;

/** Brings only the beginning of a request to the server, and then breaks off. */
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
