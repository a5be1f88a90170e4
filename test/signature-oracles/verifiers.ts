import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import type { Received } from '../support/receiver.ts';
import type { Hmac } from './hmac-programs.ts';

/** Whether this secret signed this request, according to an independent implementation. */
export type Verifier = (secret: string, request: Received) => boolean | Promise<boolean>;

const header = ({ headers }: Received, name: string): string => String(headers[name]);
const isRight = (check: () => unknown): boolean => {
  try {
    check();
    return true;
  } catch {
    return false;
  }
};

/** Checks our header and that of Standard Webhooks by an HMAC. Both must be right. */
export const byHmac =
  (hmac: Hmac): Verifier =>
  async (secret, request) => {
    const timestamp = header(request, 'service-timestamp');
    const ours = await hmac(Buffer.from(secret), Buffer.from(`${timestamp}.${request.body}`));
    if (header(request, 'service-signature') !== `sha256=${ours}`) {
      return false;
    }

    const id = header(request, 'webhook-id');
    const signed = `${id}.${header(request, 'webhook-timestamp')}.${request.body}`;
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const digest = Buffer.from(await hmac(key, Buffer.from(signed)), 'hex');
    const standard = `v1,${digest.toString('base64')}`;
    return header(request, 'webhook-signature').split(' ').includes(standard);
  };

/** Stripe signs the same string and formats the header differently. @param nowMs The time of the check. */
export const byStripe =
  (nowMs?: number) =>
  (secret: string, request: Received): boolean => {
    const hex = header(request, 'service-signature').replace('sha256=', '');
    const given = `t=${header(request, 'service-timestamp')},v1=${hex}`;
    const body = Buffer.from(request.body);
    return isRight(() => {
      const { signature } = Stripe.webhooks;
      if (!signature) {
        throw new Error('The library has no verifier.');
      }

      return signature.verifyHeader(body, given, secret, 300, undefined, nowMs);
    });
  };

export const byStandardWebhooks = (secret: string, { headers, body }: Received): boolean =>
  isRight(() => new Webhook(secret).verify(body, headers as Record<string, string>));

/** Changes that an attacker could make to a request in transit. */
export function tampered(request: Received): Record<string, Received> {
  const { headers, body } = request;
  const timestamp = String(Number(headers['service-timestamp']) + 1);
  const flipped = (name: string): string =>
    header(request, name).replace(/(?<=[=,])./v, (first) => (first === 'a' ? 'b' : 'a'));
  return {
    'a longer body': { headers, body: `${body} ` },
    'another letter': { headers, body: body.replace('"type"', '"tyqe"') },
    'no body': { headers, body: '' },
    'another time': {
      headers: { ...headers, 'service-timestamp': timestamp, 'webhook-timestamp': timestamp },
      body,
    },
    'another signature': {
      headers: {
        ...headers,
        'service-signature': flipped('service-signature'),
        'webhook-signature': header(request, 'webhook-signature')
          .split(' ')
          .map((one) => one.replace(/(?<=^v1,)./v, (first) => (first === 'a' ? 'b' : 'a')))
          .join(' '),
      },
      body,
    },
    'half a signature': {
      headers: {
        ...headers,
        'service-signature': header(request, 'service-signature').slice(0, 39),
        'webhook-signature': header(request, 'webhook-signature').slice(0, 25),
      },
      body,
    },
    'no signature': {
      headers: { ...headers, 'service-signature': '', 'webhook-signature': '' },
      body,
    },
  };
}
