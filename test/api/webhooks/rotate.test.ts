import test, { type ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import { signingSecretPurpose } from '../../../db/sealing-purposes.ts';
import { createSealer } from '../../../runtime/secrets.ts';
import { status } from '../../support/answers.ts';
import { isSignedWith, type Received } from '../../support/receiver.ts';
import { sharedWebhooks } from '../../support/webhooks.ts';

const began = Date.parse('2027-03-01T09:00:00.000Z');
const day = 24 * 3_600_000;

// The tests set the API's clock, so they run one after the other.
let nowMs = began;
const api = sharedWebhooks(test, { now: () => new Date(nowMs) });
const setClock = (ms: number): void => {
  nowMs = ms;
};

/** An endpoint on the day of its first rotation. */
async function endpoint() {
  setClock(began);
  const subscribed = await api.subscribe(status(204));
  const { client, path, receiver, store, attempt, pass } = subscribed;
  const { now } = api.punctual.deps;
  return {
    ...subscribed,
    rotate: async (): Promise<string> => (await client.post(`${path}/rotate`)).body.webhook.secret,
    /** The requests that are sent now, by a test call and by a worker. */
    sent: async (): Promise<readonly Received[]> => {
      await client.post(`${path}/test`);
      pass(now().getTime() - subscribed.now().getTime());
      await attempt(await store('pending'));
      return receiver.arrived.slice(-2);
    },
  };
}

/** The same request, as read by a receiver that checks the other header. */
const byNext = ({ headers, body }: Received): Received => ({
  headers: { ...headers, 'service-signature': String(headers['service-signature-next']) },
  body,
});

/** The signature of the Standard Webhooks library. */
function standard(secret: string, { headers, body }: Received): string {
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  return new Webhook(secret).sign(String(headers['webhook-id']), at, body);
}

/** Asserts that each request is signed with the one secret, and with the other in the next header. */
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

test.serial(
  'a rotation returns the new secret once, with the time from which it is used',
  async (t) => {
    const { client, path, secret } = await endpoint();
    const before = (await client.get(path)).body.webhook;

    const reply = await client.post(`${path}/rotate`);

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
    t.deepEqual((await client.get(path)).body.webhook, webhook);
    t.deepEqual((await client.get('/webhooks')).body.webhooks, [webhook]);
  },
);

test.serial(
  'for 24 hours both secrets sign, each in its header; afterwards only the new one',
  async (t) => {
    const { client, path, secret, rotate, sent } = await endpoint();
    await mustBeSigned(t, await sent(), secret);

    const next = await rotate();
    for (const ms of [began, began + 1, began + day - 1]) {
      setClock(ms);
      await mustBeSigned(t, await sent(), secret, next);
    }

    for (const ms of [began + day, began + 30 * day]) {
      setClock(ms);
      await mustBeSigned(t, await sent(), next);
      const { webhook } = (await client.get(path)).body;
      t.like(webhook, { secret_hint: hint(next), next_secret_hint: null, rotates_at: null });
    }
  },
);

test.serial(
  'a rotation replaces a secret that a lost SECRET_KEY sealed at once, and waiting deliveries go out',
  async (t) => {
    const { webhookId: id, rotate, sent } = await endpoint();
    const sealed = createSealer('ab'.repeat(32)).seal('whsec_lost', signingSecretPurpose(id));
    const lose = 'update webhook_endpoints set sealed_secret = ? where id = ?';
    await api.punctual.orm.em.fork().execute(lose, [sealed, id]);
    const next = await rotate();
    await mustBeSigned(t, await sent(), next);
  },
);

test.serial(
  'a second rotation replaces the pending secret and keeps the current one, for 24 hours more',
  async (t) => {
    const { client, path, secret, rotate, sent } = await endpoint();
    await rotate(); // As if its response was lost.
    setClock(began + day / 2);
    const second = await rotate();

    await mustBeSigned(t, await sent(), secret, second);
    setClock(began + day);
    await mustBeSigned(t, await sent(), secret, second);
    setClock(began + day * 1.5);
    await mustBeSigned(t, await sent(), second);
    t.is((await client.get(path)).body.webhook.secret_hint, hint(second));
  },
);

test.serial(
  'concurrent rotations keep the current secret, and one of the new ones is pending',
  async (t) => {
    const { client, path, secret, rotate, sent } = await endpoint();
    const made = await Promise.all(Array.from({ length: 10 }, rotate));
    t.is(new Set(made).size, 10);

    const { webhook } = (await client.get(path)).body;
    t.is(webhook.secret_hint, hint(secret));
    const next = made.find((one) => hint(one) === webhook.next_secret_hint) ?? '';
    await mustBeSigned(t, await sent(), secret, next);
    setClock(began + day);
    await mustBeSigned(t, await sent(), next);
  },
);

test.serial('the database stores both secrets only sealed', async (t) => {
  const { webhookId, secret, rotate } = await endpoint();
  const { punctual } = api;
  const next = await rotate();
  const [row] = await punctual.orm.em
    .fork()
    .execute<Record<string, string>[]>('select * from webhook_endpoints where id = ?', [webhookId]);

  for (const one of [secret, next]) {
    t.false(JSON.stringify(row).includes(one.slice('whsec_'.length, -4)));
  }
  t.is(
    punctual.deps.sealer.open(row?.['next_sealed_secret'] ?? '', `webhook/${webhookId}/secret`),
    next,
  );
});
