import {
  createServer,
  request,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestListener,
} from 'node:http';
import { duplexPair } from 'node:stream';
import type { ClientOptions } from '../../sdk/src/index.ts';

/**
 * Makes a `fetch` that calls the API of this process over a connection in memory. A tool call is thus authenticated,
 * limited, validated, audited and logged as any other, with the client's address and the id of its request.
 */
export function inProcess(answer: RequestListener): (from: From) => Fetch {
  const server = createServer(answer);
  return ({ client, requestId }) =>
    async (input, init = {}) => {
      const [near, far] = duplexPair();
      server.emit('connection', Object.assign(far, { remoteAddress: client.socket.remoteAddress }));
      const forwarded = client.headers['x-forwarded-for'];
      const headers = {
        ...(init.headers as Record<string, string>),
        'X-Request-Id': requestId,
        ...(forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded }),
      };
      return exchange(String(input), { ...init, headers }, near);
    };
}

type Fetch = NonNullable<ClientOptions['fetch']>;

type From = {
  /** The request of the client. */
  readonly client: IncomingMessage;
  readonly requestId: string;
};

function exchange(
  url: string,
  init: Omit<RequestInit, 'headers'> & { readonly headers: OutgoingHttpHeaders },
  near: ReturnType<typeof duplexPair>[0],
): Promise<Response> {
  const { method = 'GET', headers, body, signal } = init;
  return new Promise((resolve, reject) => {
    const options = { method, headers, createConnection: () => near };
    const call = request(url, signal ? { ...options, signal } : options, async (answer) => {
      try {
        const chunks = await answer.toArray();
        resolve(responseOf(answer, Buffer.concat(chunks)));
      } catch (error) {
        reject(error);
      }
    });
    call.on('error', reject).end(body);
  });
}

function responseOf(
  { statusCode = 500, headersDistinct }: IncomingMessage,
  body: Buffer,
): Response {
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return new Response(body, { status: statusCode, headers });
}
