import test, { type ExecutionContext } from 'ava';
import { status } from '../support/answers.ts';
import { beforeTests } from '../support/before-tests.ts';
import { needs } from '../support/needs.ts';
import type { Received } from '../support/receiver.ts';
import { startWebhooks } from '../support/webhooks.ts';
import { byPython } from './hmac-programs.ts';
import { byHmac, byStandardWebhooks, byStripe, tampered, type Verifier } from './verifiers.ts';

/** Texts that a careless signer or verifier changes. */
const texts = [
  'Hello',
  'héllo 🌍 日本 \u2028\u2029 \u0000 \ud83d\ude00',
  'dots . and .. {"id":"x"} \\ "quotes" \r\n\t',
  '12345678901234567890.123456789012345678901234567890',
  '</script><!-- &amp; %2e + =',
  'x'.repeat(50_000),
];

/** The requests to a receiver before, during and after the rotation of an endpoint's secret. */
type RealRequests = {
  readonly first: string;
  readonly second: string;
  readonly before: readonly Received[];
  readonly during: readonly Received[];
  readonly after: readonly Received[];
};

/** Sends events to a receiver by the worker's activity and by a test call, before, during and after a rotation. */
async function realRequests(scope: ExecutionContext): Promise<RealRequests> {
  const { punctual, subscribe } = await startWebhooks(scope);
  const {
    client,
    path,
    webhookId,
    secret: first,
    receiver,
    event,
    attempt,
    now,
  } = await subscribe(status(204));
  const sent = async (): Promise<readonly Received[]> => {
    const from = receiver.arrived.length;
    await client.post(`${path}/test`);
    for (const text of texts) {
      await attempt(await event({ body: text }));
    }

    return receiver.arrived.slice(from);
  };
  const before = await sent();
  const second = (await client.post(`${path}/rotate`)).body.webhook.secret;
  const during = await sent();
  const over = 'update webhook_endpoints set rotates_at = ? where id = ?';
  await punctual.orm.em.fork().execute(over, [now(), webhookId]);
  return { first, second, before, during, after: await sent() };
}

// Made once: all verifiers check the same requests.
const sentRequests = beforeTests(test, realRequests);

const verifiedTitle = (who: string): string =>
  `${who} accepts our requests before, during and after a rotation, and rejects changed ones`;

const somebodyElses = `whsec_${'0'.repeat(32)}`;

async function judged(t: ExecutionContext, verifies: Verifier): Promise<RealRequests> {
  const requests = sentRequests();
  const { first, second, before, during, after } = requests;
  const cases = [
    { sent: before, right: first, wrong: second },
    { sent: during, right: first, wrong: somebodyElses },
    { sent: after, right: second, wrong: first },
  ];
  for (const { sent, right, wrong } of cases) {
    t.is(sent.length, 7);
    for (const request of sent) {
      t.true(await verifies(right, request), request.body.slice(0, 200));
    }

    const [request] = sent;
    t.false(request && (await verifies(wrong, request)));
    for (const [how, changed] of Object.entries(request ? tampered(request) : {})) {
      t.false(await verifies(right, changed), how);
    }
  }

  return requests;
}

needs('python')(verifiedTitle("Python's hmac"), async (t) => {
  await judged(t, byHmac(byPython(t)));
});

test(verifiedTitle("Stripe's library"), async (t) => {
  const { second, during, after } = await judged(t, byStripe());

  const [request] = after;
  const sentMs = Number(request?.headers['service-timestamp']) * 1000;
  t.true(request && byStripe(sentMs + 300_000)(second, request));
  t.false(request && byStripe(sentMs + 301_000)(second, request), 'too old');
  // The new secret's signature is already in its own header.
  for (const { headers, body } of during) {
    const ahead = { ...headers, 'service-signature': headers['service-signature-next'] };
    t.true(byStripe()(second, { headers: ahead as typeof headers, body }));
  }
});

test(verifiedTitle("Standard Webhooks' library"), async (t) => {
  const { second, before, during, after } = await judged(t, byStandardWebhooks);

  for (const request of during) {
    t.true(byStandardWebhooks(second, request), 'also with the new secret');
  }

  for (const request of [...before, ...during, ...after]) {
    const id = { ...request.headers, 'webhook-id': crypto.randomUUID() };
    t.false(byStandardWebhooks(second, { ...request, headers: id }), 'the id is signed');
    t.is(request.headers['webhook-id'], JSON.parse(request.body).id);
  }
  const signatures = (sent: typeof before): number[] =>
    sent.map(({ headers }) => String(headers['webhook-signature']).split(' ').length);
  t.deepEqual([...new Set(signatures(before)), ...new Set(signatures(during))], [1, 2]);
  t.deepEqual([...new Set(signatures(after))], [1]);
});
