import type { Reply } from '../support/client.ts';

/** One request as it is written here: no key, no content type, no JSON unless given. */
export async function rawCall(url: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson =
    response.headers.get('content-type')?.startsWith('application/json') && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? JSON.parse(text) : text,
  };
}
