import test, { type ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import { attemptDelivery } from '../../../activities/attempt-delivery/attempt-delivery.ts';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { isSignedWith, startReceiver, type Received } from '../../support/receiver.ts';
import { storeDelivery } from '../../support/seed-deliveries.ts';

const began = Date.parse('2027-03-01T09:00:00.000Z');
const day = 24 * 3_600_000;

/** A Punctual whose clock the test sets, with an endpoint that has a receiver. */
async function world(t: ExecutionContext) {
  let nowMs = began;
  const receiver = await startReceiver(t);
  const now = (): Date => new Date(nowMs);
  const punctual = await startApi(t, { allowPorts: [receiver.port], now });
  const client = await newClient(punctual);
  const hook = { url: receiver.url, events: ['post.failed'] };
  const { webhook } = (await client.post('/webhooks', hook)).body;
  const { id, secret } = webhook as { id: string; secret: string };
  const rotate = async (): Promise<string> =>
    (await client.post(`/webhooks/${id}/rotate`)).body.webhook.secret;
  /** What goes out now, by a test call and by a worker. */
  const sent = async (): Promise<Received[]> => {
    const { workspaceId } = client;
    await client.post(`/webhooks/${id}/test`);
    const deliveryId = await storeDelivery(punctual, workspaceId, 'pending', now());
    await attemptDelivery(punctual.deps, { workspaceId, deliveryId });
    return receiver.received.slice(-2);
  };
  const at = (ms: number): void => {
    nowMs = ms;
  };
  return { punctual, client, id, secret, rotate, sent, at };
}

/** The same request, as somebody reads it who looks at the other header. */
const byNext = ({ headers, body }: Received): Received => ({
  headers: { ...headers, 'service-signature': String(headers['service-signature-next']) },
  body,
});

/** The signature of Standard Webhooks as its own library makes it. */
function standard(secret: string, { headers, body }: Received): string {
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  return new Webhook(secret).sign(String(headers['webhook-id']), at, body);
}

/** Whether each of these requests is signed by the one secret, and by the other for those who look ahead. */
async function mustBeSigned(
  t: ExecutionContext,
  requests: readonly Received[],
  secret: string,
  next?: string,
): Promise<void> {
  t.is(requests.length, 2);
  for (const request of requests) {
    t.true(await isSignedWith(secret, request));
    t.is('service-signature-next' in request.headers, next !== undefined);
    const both = next === undefined ? [secret] : [secret, next];
    t.is(request.headers['webhook-signature'], both.map((one) => standard(one, request)).join(' '));
    if (next !== undefined) {
      t.true(await isSignedWith(next, byNext(request)));
      t.false(await isSignedWith(next, request));
    }
  }
}

const hint = (secret: string): string => `whsec_…${secret.slice(-4)}`;

test('a rotation answers with the new secret, once, and says when it takes over', async (t) => {
  const { client, id, secret } = await world(t);
  const before = (await client.get(`/webhooks/${id}`)).body.webhook;

  const reply = await client.post(`/webhooks/${id}/rotate`);

  t.is(reply.status, 200);
  const { secret: next, ...webhook } = reply.body.webhook;
  t.regex(next, /^whsec_[0-9A-Za-z]{32}$/v);
  t.not(next, secret);
  t.deepEqual(webhook, {
    ...before,
    secret_hint: hint(secret),
    next_secret_hint: hint(next),
    rotates_at: new Date(began + day).toISOString(),
  });
  t.deepEqual((await client.get(`/webhooks/${id}`)).body.webhook, webhook);
  t.deepEqual((await client.get('/webhooks')).body.webhooks, [webhook]);
});

test('for 24 hours both secrets sign, each in its header; after that the new one signs alone', async (t) => {
  const { client, id, secret, rotate, sent, at } = await world(t);
  await mustBeSigned(t, await sent(), secret);

  const next = await rotate();
  for (const ms of [began, began + 1, began + day - 1]) {
    at(ms);
    await mustBeSigned(t, await sent(), secret, next);
  }

  for (const ms of [began + day, began + 30 * day]) {
    at(ms);
    await mustBeSigned(t, await sent(), next);
    const { webhook } = (await client.get(`/webhooks/${id}`)).body;
    t.like(webhook, { secret_hint: hint(next), next_secret_hint: null, rotates_at: null });
  }
});

test('a second rotation replaces the secret that was to come and lets the present one be, for 24 hours more', async (t) => {
  const { client, id, secret, rotate, sent, at } = await world(t);
  await rotate(); // Its answer was lost on the way, say.
  at(began + day / 2);
  const second = await rotate();

  await mustBeSigned(t, await sent(), secret, second);
  at(began + day);
  await mustBeSigned(t, await sent(), secret, second);
  at(began + day * 1.5);
  await mustBeSigned(t, await sent(), second);
  t.is((await client.get(`/webhooks/${id}`)).body.webhook.secret_hint, hint(second));
});

test('a rotation after an overlap begins from the secret that had taken over', async (t) => {
  const { rotate, sent, at } = await world(t);
  const second = await rotate();
  at(began + 2 * day);
  const third = await rotate();
  await mustBeSigned(t, await sent(), second, third);
  at(began + 3 * day);
  await mustBeSigned(t, await sent(), third);
});

test('of rotations at once the present secret survives, and one of the new ones is to come', async (t) => {
  const { client, id, secret, rotate, sent, at } = await world(t);
  const made = await Promise.all(Array.from({ length: 10 }, rotate));
  t.is(new Set(made).size, 10);

  const { webhook } = (await client.get(`/webhooks/${id}`)).body;
  t.is(webhook.secret_hint, hint(secret));
  const next = made.find((one) => hint(one) === webhook.next_secret_hint) ?? '';
  await mustBeSigned(t, await sent(), secret, next);
  at(began + day);
  await mustBeSigned(t, await sent(), next);
});

test('the database holds both secrets sealed only', async (t) => {
  const { punctual, id, secret, rotate } = await world(t);
  const next = await rotate();
  const [row] = await punctual.orm.em
    .fork()
    .execute<Record<string, string>[]>('select * from webhook_endpoints where id = ?', [id]);

  for (const one of [secret, next]) {
    t.false(JSON.stringify(row).includes(one.slice('whsec_'.length, -4)));
  }
  t.is(punctual.deps.sealer.open(row?.['next_sealed_secret'] ?? '', `webhook/${id}/secret`), next);
});

test('another workspace’s secret cannot be rotated, and a rotation takes no body', async (t) => {
  const { punctual, client, id, secret, sent } = await world(t);
  const other = await newClient(punctual);
  t.is((await other.post(`/webhooks/${id}/rotate`)).status, 404);
  t.is((await client.post(`/webhooks/${crypto.randomUUID()}/rotate`)).status, 404);
  t.is((await client.post(`/webhooks/${id}/rotate`, { secret: 'mine' })).status, 400);
  await mustBeSigned(t, await sent(), secret);
});
