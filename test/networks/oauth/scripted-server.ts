import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { listening } from '../../support/listening.ts';

export type Asked = {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as a form. */
  readonly form: URLSearchParams;
  readonly body: string;
};

/** A status with JSON, or a function that writes the response itself. */
export type Answer =
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly json: unknown }
  | ((response: ServerResponse) => void);

/** A server on a real socket with the test's answers. */
export async function startScriptedServer(
  t: ExecutionContext,
  answer: (asked: Asked) => Answer | Promise<Answer>,
) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const { method = '', url: path = '', headers } = request;
      const current = { method, path, headers, body, form: new URLSearchParams(body) };
      asked.push(current);
      const given = await answer(current);
      if (typeof given === 'function') {
        given(response);
        return;
      }

      const content = { 'content-type': 'application/json', ...given.headers };
      response.writeHead(given.status ?? 200, content).end(JSON.stringify(given.json));
    })();
  });
  const port = await listening(t, server);
  return { url: `http://127.0.0.1:${port}`, asked };
}
