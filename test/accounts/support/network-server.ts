import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { listening } from '../../support/listening.ts';

/** The API of a network, which accepts posts with a live token. @param isLive Checks a token. */
export async function startNetworkServer(
  t: ExecutionContext,
  isLive: (token: string) => Promise<boolean>,
) {
  const texts: string[] = [];
  const control = { refusesAll: false };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    if (control.refusesAll || !(await isLive(token))) {
      response.writeHead(401).end('{}');
      return;
    }

    if (request.method === 'POST') {
      const { text } = (await json(request)) as { text: string };
      texts.push(text);
      response.writeHead(201).end(JSON.stringify({ id: String(texts.length) }));
      return;
    }

    const ids = texts.flatMap((text, index) =>
      text === decodeURIComponent((request.url ?? '').slice('/posts?text='.length))
        ? [String(index + 1)]
        : [],
    );
    response.writeHead(200).end(JSON.stringify({ ids }));
  }

  const port = await listening(t, server);
  const url = `http://127.0.0.1:${port}`;
  return { url, control, texts: (): readonly string[] => texts };
}
