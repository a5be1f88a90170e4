import type { Reply } from './client.ts';
import { checkAnswer } from './check-answer.ts';

/** Sends one request without a default key, content type or JSON encoding. Checks the answer. */
export async function rawCall(url: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson =
    response.headers.get('content-type')?.startsWith('application/json') && text !== '';
  const { status, headers } = response;
  const reply = { status, headers, body: isJson ? JSON.parse(text) : text };
  checkAnswer(init.method ?? 'GET', url, reply);
  return reply;
}
