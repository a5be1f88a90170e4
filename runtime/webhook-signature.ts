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
