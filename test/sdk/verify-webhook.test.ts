import test from 'ava';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { verifyWebhook, WebhookError } from '../../sdk/src/index.ts';

const page = readFileSync(new URL('../../docs/guides/webhooks.md', import.meta.url), 'utf8');
const sample = /^```http\n(?<head>.+?)\n\n(?<body>.+?)\n```$/msv.exec(page)?.groups ?? {};
const body = sample['body'] ?? '';
const headers = Object.fromEntries(
  [...(sample['head'] ?? '').matchAll(/^(?<name>[\w\-]+): (?<value>.+)$/gmv)].map(({ groups }) => [
    groups?.['name']?.toLowerCase(),
    groups?.['value'],
  ]),
);
const secret = /secret `(?<secret>whsec_\w+)`/v.exec(page)?.groups?.['secret'] ?? '';
const nowMs = Number(headers['service-timestamp']) * 1000;

test('the sample of the manual is accepted, by its signature or by that of the next secret, with header names in any case', async (t) => {
  const next = createHmac('sha256', 'whsec_new')
    .update(`${headers['service-timestamp']}.${body}`)
    .digest('hex');
  const rotating = { ...headers, 'service-signature-next': `sha256=${next}` };
  const capital = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), String(value)]),
  );
  const events = await Promise.all([
    verifyWebhook(body, headers, secret, { nowMs }),
    verifyWebhook(Buffer.from(body), new Headers(headers), secret, { nowMs: nowMs + 299_000 }),
    verifyWebhook(body, rotating, 'whsec_new', { nowMs }),
    verifyWebhook(body, capital, secret, { nowMs }),
  ]);
  for (const event of events) {
    t.deepEqual(event, JSON.parse(body));
    t.is(event.type === 'webhook.test' && event.data.webhook.url, 'https://example.com/punctual');
  }
});

const refused: Readonly<Record<string, () => Promise<unknown>>> = {
  'a changed body': () => verifyWebhook(`${body} `, headers, secret, { nowMs }),
  'another secret': () => verifyWebhook(body, headers, 'whsec_other', { nowMs }),
  'an old request': () => verifyWebhook(body, headers, secret, { nowMs: nowMs + 301_000 }),
  'a request of the future': () => verifyWebhook(body, headers, secret, { nowMs: nowMs - 301_000 }),
  'no headers': () => verifyWebhook(body, {}, secret, { nowMs }),
  'a short signature': () =>
    verifyWebhook(body, { ...headers, 'service-signature': 'sha256=00' }, secret, { nowMs }),
  'a time that is no number': () =>
    verifyWebhook(body, { ...headers, 'service-timestamp': 'now' }, secret, { nowMs }),
};

for (const [what, verify] of Object.entries(refused)) {
  test(`${what} is refused`, async (t) => {
    await t.throwsAsync(verify(), { instanceOf: WebhookError });
  });
}

test('a parsed body and a missing secret are refused with what to pass instead', async (t) => {
  await t.throwsAsync(verifyWebhook(JSON.parse(body), headers, secret, { nowMs }), {
    instanceOf: WebhookError,
    message: /express\.raw/v,
  });
  await t.throwsAsync(verifyWebhook(body, headers, '', { nowMs }), {
    instanceOf: WebhookError,
    message: /signing secret/v,
  });
});
