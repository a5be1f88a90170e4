import { createHmac } from 'node:crypto';
import type { SigningSecrets } from '../domain/signing-secrets.ts';
import { errorOfStatus, type DeliveryError } from '../domain/webhook-deliveries.ts';
import { EgressError } from './egress/egress-error.ts';
import type { Egress } from './egress/egress.ts';

/** What a receiver has (docs/webhooks.md, What to answer), in milliseconds, over everything from the name to the body. */
const timeoutMs = 10_000;

/** Of the answer's body, in bytes. The status alone decides; the rest is for people to look at. */
const maxBytes = 2048;

/** What goes out to an endpoint. */
export type WebhookRequest = {
  readonly url: string;
  readonly eventId: string;
  readonly eventType: string;
  /** The bytes that are sent and signed. */
  readonly body: string;
};

export type WebhookResult = {
  readonly status: number | null;
  readonly error: DeliveryError | null;
  readonly durationMs: number;
  /** The answer's Retry-After as it came. */
  readonly retryAfter: string | undefined;
  /** The first 2 KB of the answer's body, made fit for JSON and people; null when there was none. */
  readonly responseBody: string | null;
};

/**
 * Sends an event once, signed for this moment. What goes wrong on the way is a result, not an exception.
 *
 * @param open Opens a sealed secret of this endpoint.
 */
export async function sendWebhook(
  egress: Egress,
  request: WebhookRequest,
  secrets: SigningSecrets,
  open: (sealed: string) => string,
  at: Date,
): Promise<WebhookResult> {
  const { url, body } = request;
  const headers = signedHeaders(request, secrets, open, at);
  const began = performance.now();
  const durationMs = (): number => Math.round(performance.now() - began);
  try {
    const answer = await egress.request({
      method: 'POST',
      url,
      notToSelf: true,
      headers,
      body,
      timeoutMs,
      maxBytes,
    });
    const { status } = answer;
    return {
      status,
      error: errorOfStatus(status),
      durationMs: durationMs(),
      retryAfter: answer.headers['retry-after'],
      responseBody: readable(answer.body, answer.truncated),
    };
  } catch (error) {
    if (error instanceof EgressError) {
      return {
        status: null,
        error: error.code,
        durationMs: durationMs(),
        retryAfter: undefined,
        responseBody: null,
      };
    }

    throw error;
  }
}

function signedHeaders(
  { eventId, eventType, body }: WebhookRequest,
  { current, next }: SigningSecrets,
  open: (sealed: string) => string,
  at: Date,
): Record<string, string> {
  const timestamp = Math.floor(at.getTime() / 1000);
  const signature = (sealed: string): string => webhookSignature(open(sealed), timestamp, body);
  return {
    'content-type': 'application/json',
    'user-agent': 'Service-Webhooks/1.0',
    'service-event-id': plain(eventId),
    'service-event-type': plain(eventType),
    'service-timestamp': String(timestamp),
    'service-signature': signature(current.sealed),
    ...(next ? { 'service-signature-next': signature(next.sealed) } : {}),
    // The same by Standard Webhooks, whose verifiers exist in many languages. They take any of several signatures.
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': [current, ...(next ? [next] : [])]
      .map(({ sealed }) => standardSignature(open(sealed), { id: eventId, timestamp, body }))
      .join(' '),
  };
}

/** @throws TypeError for what could end a header's line or is not ASCII: only this service makes ids and types. */
function plain(value: string): string {
  if (!/^[\w.\-]+$/v.test(value)) {
    throw new TypeError('An id or a type of an event is not fit for a header.');
  }

  return value;
}

/** Whatever bytes came, as text: U+FFFD stands for what is not UTF-8 and for NUL. */
function readable(bytes: Uint8Array, truncated: boolean): string | null {
  // Of a body that was cut, `stream` leaves out the half of a character at its end.
  const text = new TextDecoder('utf-8').decode(bytes, { stream: truncated });
  return text === '' ? null : text.replaceAll('\0', '\uFFFD');
}

/**
 * The value of `Service-Signature`: HMAC-SHA256 in lower-case hex over `<timestamp>.<body>`, keyed with the
 * whole signing secret as UTF-8, its `whsec_` included.
 *
 * @param timestamp Unix time in seconds, as sent in `Service-Timestamp`.
 * @param body The exact bytes that are sent, as text.
 */
export function webhookSignature(secret: string, timestamp: number, body: string): string {
  const digest = createHmac('sha256', secret).update(`${timestamp}.${body}`, 'utf8').digest('hex');
  return `sha256=${digest}`;
}

/** What a signature of Standard Webhooks is over. */
type Signed = { readonly id: string; readonly timestamp: number; readonly body: string };

/**
 * One signature of the header `webhook-signature`: `v1,` and HMAC-SHA256 in Base64 over `<id>.<timestamp>.<body>`. The
 * key is what follows `whsec_` in the signing secret, decoded from Base64: 24 bytes.
 *
 * Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.
 */
export function standardSignature(secret: string, { id, timestamp, body }: Signed): string {
  const key = Buffer.from(secret.replace(/^whsec_/v, ''), 'base64');
  const digest = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`, 'utf8');
  return `v1,${digest.digest('base64')}`;
}
