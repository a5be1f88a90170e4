import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { ExecutionContext } from 'ava';

/** A server on 127.0.0.1 that ends with the test. */
export type TestServer = {
  readonly port: number;
  connections: number;
  readonly requests: string[];
};

async function listen(t: ExecutionContext, server: Server): Promise<TestServer> {
  const open = new Set<Socket>();
  const state: TestServer = { port: 0, connections: 0, requests: [] };
  server.on('connection', (socket: Socket) => {
    state.connections += 1;
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of open) {
      socket.destroy();
    }
    await closed;
  });
  return Object.assign(state, { port: (server.address() as AddressInfo).port });
}

/** Serves HTTP by Node's server. `requests` has the method, path and body of each request. */
export async function httpServer(
  t: ExecutionContext,
  answer: RequestListener,
): Promise<TestServer> {
  const server = createHttpServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      state.requests.push(`${request.method} ${request.url} ${body}`.trim());
      answer(request, response);
    });
  });
  const state = await listen(t, server);
  return state;
}

/** Handles each connection with the test's function. */
export const rawServer = (t: ExecutionContext, serve: (socket: Socket) => void) =>
  listen(t, createServer(serve));

export function tlsServer(
  t: ExecutionContext,
  options: TlsOptions,
  serve: (socket: Socket) => void = answering(okay),
): Promise<TestServer> {
  const server = createTlsServer(options, (socket) => {
    socket.on('error', () => {});
    serve(socket);
  });
  server.on('tlsClientError', () => {});
  return listen(t, server);
}

export const at = ({ port }: { readonly port: number }, path = '/'): string =>
  `http://127.0.0.1:${port}${path}`;

export const okay = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** Waits for the first bytes of a request, then writes this text. */
export const answering = (text: string) => (socket: Socket) => {
  socket.once('data', () => socket.write(text));
};
