import test, { type ExecutionContext } from 'ava';
import { byOpenssl, byPython } from './hmac-programs.ts';
import { realRequests, type RealRequests } from './real-requests.ts';
import { byHmac, byStandardWebhooks, byStripe, tampered, type Verifier } from './verifiers.ts';
import { needs } from '../support/needs.ts';

const title = (who: string): string =>
  `what a receiver gets is verified by ${who}, before, during and after a rotation, and nothing that was tampered with is`;

const somebodyElses = `whsec_${'0'.repeat(32)}`;

async function judged(t: ExecutionContext, verifies: Verifier): Promise<RealRequests> {
  const requests = await realRequests(t);
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

needs('openssl')(title('openssl'), async (t) => {
  await judged(t, byHmac(byOpenssl));
});

needs('python')(title("Python's hmac"), async (t) => {
  await judged(t, byHmac(byPython(t)));
});

test(title("Stripe's library"), async (t) => {
  const { second, during, after } = await judged(t, byStripe());

  const [request] = after;
  const sentMs = Number(request?.headers['service-timestamp']) * 1000;
  t.true(request && byStripe(sentMs + 300_000)(second, request));
  t.false(request && byStripe(sentMs + 301_000)(second, request), 'too old');
  // Whoever looks ahead finds the new secret's in the header of its own.
  for (const { headers, body } of during) {
    const ahead = { ...headers, 'service-signature': headers['service-signature-next'] };
    t.true(byStripe()(second, { headers: ahead as typeof headers, body }));
  }
});

test(title("Standard Webhooks' library"), async (t) => {
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
