import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { listening } from './listening.ts';

export type Answer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** A failure of one request. */
export type Mishap =
  /** The server handles the request, and its answer is lost. */
  | { readonly kind: 'lost' }
  /** The server handles the request, and its answer never arrives; `onReceived` is called when the server has answered. */
  | { readonly kind: 'held'; readonly onReceived: () => void }
  /** The server handles the request, and the client gets another answer. */
  | { readonly kind: 'overruled'; readonly answer: Answer }
  /** The request never reaches the server. */
  | { readonly kind: 'refused'; readonly answer: Answer }
  /** Nothing fails: the next planned mishap is for a later request. */
  | { readonly kind: 'none' };

/** The request that fails: the first that matches, once. */
export type Target = { readonly method: string; readonly path: RegExp };

export type SeenRequest = {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type LossyProxy = {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  /** Plans a mishap. Several for the same requests happen in the order of their planning. */
  plan(target: Target, mishap: Mishap): void;
};

/** Puts an unreliable proxy before a server on the loopback, for one test. */
export async function lossyProxy(t: ExecutionContext, serverUrl: string): Promise<LossyProxy> {
  const seen: SeenRequest[] = [];
  const plans: { target: Target; mishap: Mishap }[] = [];
  const proxy = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = request;
    const body = await buffer(request);
    seen.push({ method, path, headers, body: body.toString('utf8') });
    const index = plans.findIndex(
      ({ target }) => target.method === method && target.path.test(path),
    );
    const mishap = index === -1 ? undefined : plans.splice(index, 1)[0]?.mishap;
    if (mishap?.kind === 'refused') {
      give(response, mishap.answer);
      return;
    }

    const answer = await forward(serverUrl, { method, path, headers, body });
    if (mishap?.kind === 'lost') {
      response.destroy();
    } else if (mishap?.kind === 'held') {
      mishap.onReceived();
    } else if (mishap?.kind === 'overruled') {
      give(response, mishap.answer);
    } else {
      response.writeHead(answer.status, ownAddresses(answer.headers)).end(answer.body);
    }
  }

  /** Rewrites the server's own addresses to the proxy's, as reverse proxies do. */
  function ownAddresses(headers: IncomingHttpHeaders): IncomingHttpHeaders {
    const { location } = headers;
    const { port } = proxy.address() as AddressInfo;
    const own = `http://127.0.0.1:${port}`;
    return location === undefined
      ? headers
      : { ...headers, location: location.replace(new URL(serverUrl).origin, own) };
  }

  const port = await listening(t, proxy);
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    plan: (target, mishap) => plans.push({ target, mishap }),
  };
}

const give = (response: ServerResponse, { status, headers, body }: Answer): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
};

type Forwarded = Omit<SeenRequest, 'body'> & { readonly body: Buffer };

async function forward(serverUrl: string, { method, path, headers, body }: Forwarded) {
  const server = new URL(serverUrl);
  const request = httpRequest(new URL(path, server), {
    method,
    headers: {
      ...headers,
      host: server.host,
      'x-forwarded-host': headers.host,
      connection: 'close',
    },
  });
  request.end(body);
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (!response) {
    throw new Error('The server gave no answer.');
  }

  const { statusCode: status = 502, headers: answered } = response;
  return { status, headers: answered, body: await buffer(response) };
}
