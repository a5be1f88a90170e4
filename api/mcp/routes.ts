import { once } from 'node:events';
import type { default as Koa, Context } from 'koa';
import {
  createServer,
  request,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestListener,
} from 'node:http';
import { duplexPair } from 'node:stream';
import { Router, type RouterContext } from '@koa/router';
import { AppError } from '../../domain/errors.ts';
import { createKeyedSemaphore } from '../../runtime/concurrency.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ClientOptions } from '../../sdk/src/index.ts';
import type { Caller } from '../../services/context.ts';
import type { ApiDeps } from '../deps.ts';
import { clientSignalOf, untilFirst } from '../http/mount.ts';
import { readBody } from '../http/read-body.ts';
import { createConcurrencyLimit } from '../rate-limits/limiter.ts';

/** Limit of a message, in bytes. The library checks each field of it, which costs 3 ms for a thousand. */
const mostBytes = 512 * 1024;

/** Most parsed messages of a workspace. The values of one may take 1 MB while its tool waits for its turn. */
const mostParsed = 10;

type McpDeps = Pick<ApiDeps, 'admission' | 'publicUrl' | 'log'>;

/** The tools for language models, without sessions. @param handle The API, which they call with the client's key. */
export function mcpRouter(deps: McpDeps, handle: () => ReturnType<Koa['callback']>): Router {
  let opened: Promise<Handler> | undefined;
  let callApi: ReturnType<typeof inProcess> | undefined;
  // Apart from the API's slots, because the tool's call takes one of those.
  const holdLarge = createConcurrencyLimit(1, 'of this workspace with a large message');
  const enter = createKeyedSemaphore(mostParsed);
  return new Router().post('/mcp', async (ctx) => {
    ctx.set('Cache-Control', 'no-store');
    // As a call that may wait, so that it does not take the slot of the call that its tool makes.
    const caller = (await deps.admission.admit(ctx, false, { waits: true })) as Caller;
    const onLarge = () => holdLarge(ctx, caller.workspaceId);
    const parse = await readBody(ctx, { most: mostBytes, onLarge });
    await untilFirst(ctx.res);
    opened ??= openHandler(deps);
    callApi ??= inProcess(handle());
    const handler = await opened;
    const api = {
      apiKey: ctx
        .get('authorization')
        .replace(/^bearer +/iv, '')
        .trim(),
      baseUrl: 'http://punctual.local',
      maxRetries: 0, // The model decides whether to wait for a limit.
      fetch: callApi(ctx),
    };
    const signal = clientSignalOf(ctx.res);
    const leave = await enter(caller.workspaceId, signal);
    try {
      const message = parse();
      if (Array.isArray(message)) {
        throw new AppError('invalid_request', 'Send one JSON-RPC message, not a batch.');
      }

      const answer = await handler(requestOf(ctx, signal), message, api);
      ctx.status = answer.status;
      ctx.set(Object.fromEntries(answer.headers));
      ctx.body = Buffer.from(await answer.arrayBuffer()); // A string takes twice as much until it is sent.
    } finally {
      leave();
    }
  });
}

/** The body is read already, within its limits. */
function requestOf(ctx: RouterContext, signal: AbortSignal): Request {
  // As a trusted proxy forwards the host.
  const headers = { ...(ctx.headers as Record<string, string>), host: ctx.host };
  return new Request('http://punctual.local/mcp', { method: 'POST', headers, signal });
}

type Handler = (request: Request, message: unknown, api: ClientOptions) => Promise<Response>;

/** Imported at the first message: it costs 0.2 s and 30 MB, which most processes never need. */
async function openHandler({ publicUrl, log }: McpDeps): Promise<Handler> {
  const mcp = await import('@modelcontextprotocol/server');
  const { createMcpServer } = await import('../../mcp/server.ts');
  const { Punctual } = await import('../../sdk/src/index.ts');
  const hosts = [new URL(publicUrl).hostname, ...mcp.localhostAllowedHostnames()];
  const report = (error: unknown) => log.error({ error: describeError(error) }, 'MCP tool failed');
  return async (asked, message, api) => {
    const handler = mcp.createMcpHandler(() => createMcpServer(new Punctual(api), report), {
      maxSubscriptions: 0, // The list of tools never changes.
      onerror: ({ name }) => log.debug({ name }, 'MCP message refused'),
    });
    return (
      mcp.hostHeaderValidationResponse(asked, hosts) ??
      mcp.originValidationResponse(asked, hosts) ??
      (await handler.fetch(asked, { parsedBody: message }))
    );
  };
}

/**
 * Makes a `fetch` that calls the API of this process over a connection in memory. A tool call is thus authenticated,
 * limited, validated, audited and logged as any other, with the client's address and the id of its request.
 */
function inProcess(answer: RequestListener): (client: Context) => Fetch {
  const server = createServer(answer);
  return ({ req, res, state }) =>
    async (input, init = {}) => {
      const [near, far] = duplexPair();
      const { remoteAddress } = req.socket;
      // A turn of the call lasts until the client has its answer. A tool needs one at most: two would wait for each other.
      const peer = { remoteAddress, client: res, setTimeout: () => far };
      server.emit('connection', Object.assign(far, peer));
      const forwarded = req.headers['x-forwarded-for'];
      const headers = {
        ...(init.headers as Record<string, string>),
        'X-Request-Id': String(state['requestId']),
        ...(forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded }),
      };
      return exchange(String(input), { ...init, headers }, near);
    };
}

type Fetch = NonNullable<ClientOptions['fetch']>;

async function exchange(
  url: string,
  init: Omit<RequestInit, 'headers'> & { readonly headers: OutgoingHttpHeaders },
  near: ReturnType<typeof duplexPair>[0],
): Promise<Response> {
  const { method = 'GET', headers, body, signal } = init;
  const options = { method, headers, createConnection: () => near };
  const call = request(url, signal ? { ...options, signal } : options).on('error', () => undefined);
  const [answer] = (await once(call.end(body), 'response')) as [IncomingMessage];
  const { statusCode: status = 500, headers: received } = answer;
  const bytes = Buffer.concat(await answer.toArray());
  return new Response(bytes, { status, headers: received as Record<string, string> });
}
