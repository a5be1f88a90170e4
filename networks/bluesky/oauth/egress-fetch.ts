import type { EgressRequest, Egress } from '../../../runtime/egress/egress.ts';

/** Limit for a whole request. */
const timeoutMs = 20_000;

/** Documents and tokens are a few kilobytes. */
const maxBytes = 256 * 1024;

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * The `fetch` that the OAuth library uses. It follows no redirect, and the egress guard decides about plain http.
 *
 * @param sent Collects the secrets of each request, which must not appear in messages.
 * @param signal Aborts reads only. A token request is never aborted, because its response may hold the only refresh
 *   token.
 */
export const egressFetch =
  (http: Egress, sent: Set<string>, signal?: AbortSignal): Fetch =>
  async (input, init) => {
    const request = new Request(input, init);
    const reads = request.method === 'GET';
    const text = request.body && (await request.text());
    noteSecrets(sent, request.headers, text);
    const signals = [request.signal, ...(signal ? [signal] : [])];
    const response = await http.request({
      method: request.method as EgressRequest['method'],
      url: request.url,
      headers: { ...Object.fromEntries(request.headers), 'user-agent': 'Punctual' },
      ...(text && { body: text }),
      timeoutMs,
      maxBytes,
      ...(reads && { signal: AbortSignal.any(signals) }),
    });
    const { status, headers, body, truncated } = response;
    if (truncated || status > 599) {
      throw new TypeError('The server returned an unexpected response.');
    }

    const isBare = [204, 205, 304].includes(status);
    return new Response(isBare ? null : new Uint8Array(body), { status, headers });
  };

/** Secret fields in the forms that an authorization server accepts. */
const secretFields = ['code', 'code_verifier', 'refresh_token', 'client_assertion', 'token'];

function noteSecrets(sent: Set<string>, headers: Headers, text: string | null): void {
  const form = new URLSearchParams(text ?? '');
  const found = [
    ...secretFields.map((name) => form.get(name)),
    headers.get('dpop'),
    headers.get('authorization')?.replace(/^\S+ /v, ''),
  ];
  for (const secret of found) {
    if (secret) {
      sent.add(secret);
    }
  }
}
