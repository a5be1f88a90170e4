import { createHmac } from 'node:crypto';
import type { Answer } from '../sdk/src/index.ts';
import { signedHeaders } from '../runtime/sign-webhook.ts';

export type Sent = Pick<
  Answer<'listEvents'>['events'][number],
  'id' | 'type' | 'created_at' | 'workspace_id' | 'data'
>;

export type Receiver = { readonly url: string; readonly secret: string };

export type Forwarded = {
  readonly status: number | null;
  /** Why there is no answer: a code of the system such as `ECONNREFUSED`, or `timeout`. */
  readonly error: string | null;
  readonly duration_ms: number;
};

/** Signs forwarded events: the same for an API key, which it does not reveal. */
export const signingSecret = (apiKey: string): string =>
  `whsec_${createHmac('sha256', apiKey).update('punctual listen').digest('base64')}`;

/** As of a delivery (docs/guides/webhooks.md), in milliseconds. */
const timeoutMs = 10_000;

/** Sends an event as a delivery does: the same headers, body and time limit. @throws the signal's reason. */
export async function forwardEvent(
  { id, type, created_at, workspace_id, data }: Sent,
  { url, secret }: Receiver,
  signal: AbortSignal,
): Promise<Forwarded> {
  const body = JSON.stringify({ id, type, created_at, workspace_id, data });
  const headers = signedHeaders({ eventId: id, eventType: type, body }, [secret], new Date());
  const began = performance.now();
  const ended = (status: number | null, error: string | null): Forwarded => ({
    status,
    error,
    duration_ms: Math.round(performance.now() - began),
  });
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await response.body?.cancel();
    return ended(response.status, null);
  } catch (error) {
    signal.throwIfAborted();
    const { name, cause } = error as Error & { readonly cause?: { readonly code?: string } };
    return ended(null, name === 'TimeoutError' ? 'timeout' : (cause?.code ?? 'failed'));
  }
}

export const isAccepted = ({ status }: Forwarded): boolean =>
  status !== null && status >= 200 && status < 300;

/** Whether no connection was made: the receiver is not running. */
export const isAway = ({ error }: Forwarded): boolean =>
  /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/v.test(
    error ?? '',
  );
