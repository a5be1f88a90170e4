/** One call of the product's API. @throws Error when it is not answered with 200 or 201. */
export async function call(
  origin: string,
  key: string,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<void> {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status !== 200 && response.status !== 201) {
    throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  }
}
