import { createHmac } from 'node:crypto';
import {
  errorOfStatus,
  type SigningSecrets,
  type DeliveryError,
} from '../domain/webhook-deliveries.ts';
import { EgressError, type Egress } from './egress/egress.ts';

/** Limit for the whole request, from DNS to body (docs/guides/webhooks.md, "What to answer"). */
const timeoutMs = 10_000;

/** Limit for the response's body, in bytes. Only the status matters; the body is shown to the endpoint's owner. */
const maxBytes = 2048;

/** A request to an endpoint. */
export type WebhookRequest = {
  readonly url: string;
  readonly eventId: string;
  readonly eventType: string;
  /** The exact text that is sent and signed. */
  readonly body: string;
};

export type WebhookResult = {
  readonly status: number | null;
  readonly error: DeliveryError | null;
  readonly durationMs: number;
  /** The raw `Retry-After` header. */
  readonly retryAfter: string | undefined;
  /** The first 2 KB of the response's body as text for JSON; null when it was empty. */
  readonly responseBody: string | null;
};

/**
 * Sends an event once, signed for this time. Network failures are results, not exceptions.
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
    // The same as Standard Webhooks, which has verifiers in many languages. They accept any of several signatures.
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': [current, ...(next ? [next] : [])]
      .map(({ sealed }) => standardSignature(open(sealed), { id: eventId, timestamp, body }))
      .join(' '),
  };
}

/** @throws TypeError for characters that could break the header. Only this service creates ids and types. */
function plain(value: string): string {
  if (!/^[\w.\-]+$/v.test(value)) {
    throw new TypeError(
      'The id or type of an event contains characters that a header cannot have.',
    );
  }

  return value;
}

/** Decodes any bytes as text, with U+FFFD for invalid UTF-8 and for NUL. */
function readable(bytes: Uint8Array, truncated: boolean): string | null {
  // `stream` drops an incomplete character at the end of a truncated body.
  const text = new TextDecoder('utf-8').decode(bytes, { stream: truncated });
  return text === '' ? null : text.replaceAll('\0', '\uFFFD');
}

/**
 * The value of `Service-Signature`: HMAC-SHA256 in lower-case hex over `<timestamp>.<body>`, keyed with the whole
 * signing secret as UTF-8, including `whsec_`.
 *
 * @param timestamp Unix time in seconds, as sent in `Service-Timestamp`.
 * @param body The exact bytes that are sent, as text.
 */
export function webhookSignature(secret: string, timestamp: number, body: string): string {
  const digest = createHmac('sha256', secret).update(`${timestamp}.${body}`, 'utf8').digest('hex');
  return `sha256=${digest}`;
}

/** The content of a Standard Webhooks signature. */
type Signed = { readonly id: string; readonly timestamp: number; readonly body: string };

/**
 * One signature of the header `webhook-signature`: `v1,` and HMAC-SHA256 in Base64 over `<id>.<timestamp>.<body>`. The
 * key is the part of the signing secret after `whsec_`, decoded from Base64: 24 bytes.
 *
 * Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.
 */
export function standardSignature(secret: string, { id, timestamp, body }: Signed): string {
  const key = Buffer.from(secret.replace(/^whsec_/v, ''), 'base64');
  const digest = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`, 'utf8');
  return `v1,${digest.digest('base64')}`;
}
