import {
  errorOfStatus,
  type SigningSecrets,
  type DeliveryError,
} from '../domain/webhook-deliveries.ts';
import { EgressError, type Egress } from './egress/egress.ts';
import { signedHeaders, type SignedEvent } from './sign-webhook.ts';

/** Limit for the whole request, from DNS to body (docs/guides/webhooks.md, "What to answer"). */
const timeoutMs = 10_000;

/** Limit for the response's body, in bytes. Only the status matters; the body is shown to the endpoint's owner. */
const maxBytes = 2048;

export type WebhookRequest = SignedEvent & { readonly url: string };

export type WebhookResult = {
  readonly status: number | null;
  readonly error: DeliveryError | null;
  readonly durationMs: number;
  readonly retryAfter: string | undefined;
  /** The first 2 KB of the response's body as text for JSON; null when it was empty. */
  readonly responseBody: string | null;
};

/** Sends an event once, signed for this time. Network failures are results, not exceptions. */
export async function sendWebhook(
  egress: Egress,
  request: WebhookRequest,
  secrets: SigningSecrets,
  open: (sealed: string) => string,
  at: Date,
): Promise<WebhookResult> {
  const { url, body } = request;
  const { current, next } = secrets;
  const opened = [current, ...(next ? [next] : [])].map(({ sealed }) => open(sealed));
  const headers = signedHeaders(request, opened, at);
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

/** Decodes any bytes as text, with U+FFFD for invalid UTF-8 and for NUL. */
function readable(bytes: Uint8Array, truncated: boolean): string | null {
  // `stream` drops an incomplete character at the end of a truncated body.
  const text = new TextDecoder('utf-8').decode(bytes, { stream: truncated });
  return text === '' ? null : text.replaceAll('\0', '\uFFFD');
}
