import { createHmac } from 'node:crypto';

export type SignedEvent = {
  readonly eventId: string;
  readonly eventType: string;
  /** The exact text that is sent and signed. */
  readonly body: string;
};

/** The headers of a delivery. @param secrets The signing secret, and its successor while it is replaced. */
export function signedHeaders(
  { eventId, eventType, body }: SignedEvent,
  [current = '', next]: readonly string[],
  at: Date,
): Record<string, string> {
  const timestamp = Math.floor(at.getTime() / 1000);
  const signature = (secret: string): string => webhookSignature(secret, timestamp, body);
  const standard = [current, ...(next === undefined ? [] : [next])].map((secret) =>
    standardSignature(secret, { id: eventId, timestamp, body }),
  );
  return {
    'content-type': 'application/json',
    'user-agent': 'Service-Webhooks/1.0',
    'service-event-id': plain(eventId),
    'service-event-type': plain(eventType),
    'service-timestamp': String(timestamp),
    'service-signature': signature(current),
    ...(next === undefined ? {} : { 'service-signature-next': signature(next) }),
    // The same as Standard Webhooks, which has verifiers in many languages. They accept any of several signatures.
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standard.join(' '),
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

/**
 * The value of `Service-Signature`: HMAC-SHA256 in lower-case hex over `<timestamp>.<body>`, keyed with the whole
 * signing secret as UTF-8, including `whsec_`. The timestamp is in seconds.
 */
export function webhookSignature(secret: string, timestamp: number, body: string): string {
  const digest = createHmac('sha256', secret).update(`${timestamp}.${body}`, 'utf8').digest('hex');
  return `sha256=${digest}`;
}

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
