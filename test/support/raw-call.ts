import type { Reply } from './client.ts';
import { checkAnswer } from './check-answer.ts';

/** One request as it is written here: no key, no content type, no JSON unless given. Its answer is checked. */
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
