import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/**
 * A server with the parts of Mastodon's API that a post needs. It responds immediately and records when each post
 * arrived.
 */
export type RecordingNetwork = {
  /** Without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Arrival of the request that creates a post, in milliseconds since 1970, by the post's text. */
  readonly arrivals: ReadonlyMap<string, number>;
  readonly close: () => Promise<void>;
};

export async function startRecordingNetwork(): Promise<RecordingNetwork> {
  const arrivals = new Map<string, number>();
  const server = createServer((request, response) => {
    const arrivedMs = Date.now();
    void answer(request, response, (text) => arrivals.set(text, arrivals.get(text) ?? arrivedMs));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    arrivals,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  note: (text: string) => void,
): Promise<void> {
  response.setHeader('content-type', 'application/json');
  if (request.method !== 'POST') {
    response.end('[]'); // The account has no statuses yet.
    return;
  }

  const { status } = (await json(request)) as { status: string };
  note(status);
  const id = crypto.randomUUID();
  response.end(JSON.stringify({ id, uri: `http://network.example/${id}` }));
}
