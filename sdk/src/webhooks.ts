import type { WebhookEvent } from './types.ts';

/** The request is not from Punctual, was changed or kept on its way, or cannot be checked. Answer 400. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

/** Headers of a request, with names in any case. */
type RequestHeaders =
  | { readonly get: (name: string) => string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Checks that a webhook's request is from Punctual.
 *
 * @param body The bytes as they arrived, or their text: a parsed body cannot be checked.
 * @param secret The signing secret of the endpoint, including `whsec_`.
 * @returns its event. Later versions may send other types of events.
 * @throws WebhookError if the signature does not match, or is more than five minutes old, or if the body was parsed or
 *   the secret is empty.
 */
export async function verifyWebhook(
  body: string | Uint8Array<ArrayBuffer>,
  headers: RequestHeaders,
  secret: string,
  { nowMs = Date.now() }: { readonly nowMs?: number } = {},
): Promise<WebhookEvent> {
  if (!secret) {
    throw new WebhookError('Pass the signing secret of the endpoint (whsec_…).');
  }

  if (typeof body !== 'string' && !ArrayBuffer.isView(body)) {
    throw new WebhookError(
      "The body was parsed: pass its text or bytes, in Express by express.raw({ type: 'application/json' }).",
    );
  }

  const timestamp = header(headers, 'service-timestamp');
  if (!(Math.abs(nowMs / 1000 - Number(timestamp)) <= 300)) {
    throw new WebhookError(
      timestamp === ''
        ? 'The request has no Service-Timestamp.'
        : 'Service-Timestamp is five minutes off: the request is old, or a clock is wrong.',
    );
  }

  const signed = await new Blob([`${timestamp}.`, body]).arrayBuffer();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const { subtle } = crypto;
  const key = await subtle.importKey('raw', new TextEncoder().encode(secret), algorithm, false, [
    'verify',
  ]);
  for (const name of ['service-signature', 'service-signature-next']) {
    const signature = bytesOf(header(headers, name));
    if (signature && (await subtle.verify('HMAC', key, signature, signed))) {
      return JSON.parse(await new Response(body).text()) as WebhookEvent;
    }
  }

  throw new WebhookError(
    'The signature does not match: check the secret, and that the body is as it arrived.',
  );
}

function header(headers: RequestHeaders, name: string): string {
  const value =
    typeof headers.get === 'function'
      ? (headers.get as (name: string) => string | null)(name)
      : Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  return typeof value === 'string' ? value : '';
}

/** The bytes of `sha256=` and 64 hexadecimal digits; null if it is anything else. */
function bytesOf(signature: string): Uint8Array<ArrayBuffer> | null {
  const hex = /^sha256=([\da-f]{64})$/.exec(signature)?.[1];
  return hex === undefined
    ? null
    : Uint8Array.from({ length: 32 }, (_, at) =>
        Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16),
      );
}
