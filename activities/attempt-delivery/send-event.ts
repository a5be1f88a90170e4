import { errorOfStatus, type DeliveryError } from '../../domain/delivery-error.ts';
import { EgressError, type Egress } from '../../runtime/egress/egress.ts';
import { webhookSignature } from '../../runtime/webhook-signature.ts';
import type { PendingDelivery } from './load-delivery.ts';

/** The specification's limit on a receiver, in milliseconds, over everything from the name to the body. */
const timeoutMs = 10_000;

/** Of the answer's body, in bytes. The status alone decides; the rest is for people to look at. */
const maxBytes = 2048;

export type SendResult = {
  readonly status: number | null;
  readonly error: DeliveryError | null;
  readonly durationMs: number;
};

/** Sends the event once, signed for this moment. What goes wrong on the way is a result, not an exception. */
export async function sendEvent(
  egress: Egress,
  delivery: PendingDelivery,
  secret: string,
  at: Date,
): Promise<SendResult> {
  const timestamp = Math.floor(at.getTime() / 1000);
  const began = performance.now();
  const durationMs = (): number => Math.round(performance.now() - began);
  try {
    const { status } = await egress.request({
      method: 'POST',
      url: delivery.url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Service-Webhooks/1.0',
        'service-event-id': delivery.eventId,
        'service-event-type': delivery.eventType,
        'service-timestamp': String(timestamp),
        'service-signature': webhookSignature(secret, timestamp, delivery.body),
      },
      body: delivery.body,
      timeoutMs,
      maxBytes,
    });
    return { status, error: errorOfStatus(status), durationMs: durationMs() };
  } catch (error) {
    if (error instanceof EgressError) {
      return { status: null, error: error.code, durationMs: durationMs() };
    }

    throw error;
  }
}
