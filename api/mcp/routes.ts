import { Router, type RouterContext } from '@koa/router';
import type Koa from 'koa';
import { AppError } from '../../domain/errors.ts';
import { Punctual } from '../../sdk/src/index.ts';
import type { ApiDeps } from '../deps.ts';
import { clientSignalOf } from '../http/mount.ts';
import { readBody } from '../http/read-body.ts';
import { inProcess } from './in-process.ts';

type McpDeps = Pick<ApiDeps, 'admission' | 'publicUrl' | 'log'>;

/**
 * The tools for language models, over HTTP. Each message is a request of its own: there are no sessions.
 *
 * @param handle The API, which the tools call with the key of the client.
 */
export function mcpRouter(deps: McpDeps, handle: () => ReturnType<Koa['callback']>): Router {
  const serve = once(() => openHandler(deps));
  const callApi = once(() => inProcess(handle()));
  return new Router().post('/mcp', async (ctx) => {
    ctx.set('Cache-Control', 'no-store');
    // As a call that may wait, so that it does not take the slot of the call that its tool makes.
    await deps.admission.admit(ctx, false, { waits: true });
    const message = await readBody(ctx);
    if (Array.isArray(message)) {
      throw new AppError('invalid_request', 'Send one JSON-RPC message, not a batch.');
    }

    const requestId = String(ctx.state['requestId']);
    const client = new Punctual({
      apiKey: ctx
        .get('authorization')
        .replace(/^bearer +/iv, '')
        .trim(),
      baseUrl: 'http://punctual.local',
      // The model decides whether to wait for a limit.
      maxRetries: 0,
      fetch: callApi()({ client: ctx.req, requestId }),
    });
    const answer = await (await serve())(requestOf(ctx), message, client);
    ctx.status = answer.status;
    for (const [name, value] of answer.headers) {
      ctx.set(name, value);
    }

    ctx.body = await answer.text();
  });
}

const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};

/** The body is read already, within its limits. */
function requestOf(ctx: RouterContext): Request {
  const headers = new Headers();
  for (const [name, value = ''] of Object.entries(ctx.headers)) {
    headers.set(name, String(value));
  }

  headers.set('host', ctx.host); // As a trusted proxy forwards it.
  const signal = clientSignalOf(ctx.res);
  return new Request('http://punctual.local/mcp', { method: 'POST', headers, signal });
}

type Handler = (request: Request, message: unknown, client: Punctual) => Promise<Response>;

/** Imported at the first request: it costs 0.2 s and 30 MB, which most processes never need. */
async function openHandler({ publicUrl, log }: McpDeps): Promise<Handler> {
  const mcp = await import('@modelcontextprotocol/server');
  const { createMcpServer } = await import('../../mcp/server.ts');
  const hosts = [new URL(publicUrl).hostname, ...mcp.localhostAllowedHostnames()];
  return async (request, message, client) => {
    const handler = mcp.createMcpHandler(() => createMcpServer(client), {
      maxSubscriptions: 0,
      onerror: ({ name }) => log.debug({ name }, 'MCP message refused'),
    });
    return (
      mcp.hostHeaderValidationResponse(request, hosts) ??
      mcp.originValidationResponse(request, hosts) ??
      (await handler.fetch(request, { parsedBody: message }))
    );
  };
}
