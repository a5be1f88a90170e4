import { createHmac } from 'node:crypto';

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
