import { request } from 'undici';

/** One call of the API. @returns its answer. @throws Error when that is neither 200 nor 201. */
export async function call(
  origin: string,
  key: string,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<unknown> {
  const answer = await request(`${origin}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200 && answer.statusCode !== 201) {
    throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`);
  }

  return JSON.parse(text);
}
