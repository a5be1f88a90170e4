import test, { type ExecutionContext } from 'ava';
import { saying, status, type Answer } from '../../support/answers.ts';
import { isSignedWith } from '../../support/receiver.ts';
import { sharedWebhooks } from '../../support/webhooks.ts';

/** A port that webhooks may use and that has no listener: the discard service. */
const nobody = 9;
const api = sharedWebhooks(test, { allowPorts: [nobody] });
const execute = (sql: string, values: unknown[]): Promise<unknown> =>
  api.punctual.orm.em.fork().execute(sql, values);

const withBody = (code: number, body: string | Buffer): Answer => {
  const head = `HTTP/1.1 ${code} Said\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return saying(Buffer.concat([Buffer.from(head), Buffer.from(body)]));
};

/** An endpoint without a subscription to tests, and a call that tests it. */
async function endpoint(t: ExecutionContext, answer?: Answer) {
  const subscribed = await api.subscribe(answer);
  const { client, path } = subscribed;
  return {
    ...subscribed,
    call: async () => {
      const reply = await client.post(`${path}/test`);
      t.is(reply.status, 200);
      return reply.body.delivery;
    },
  };
}

test('a test sends a signed webhook.test event now, to this endpoint only, and shows the result', async (t) => {
  const { client, webhookId, secret, path, receiver, call } = await endpoint(t, status(204));
  const other = api.receiver(status(204));
  const beganS = Math.floor(Date.now() / 1000);
  await client.post('/webhooks', { url: other.url, events: ['webhook.test'] });

  const delivery = await call();

  const [request] = receiver.arrived;
  t.is(receiver.arrived.length, 1);
  t.true(request && (await isSignedWith(secret, request)));
  const { 'service-timestamp': timestamp, ...headers } = request?.headers ?? {};
  t.like(headers, {
    'content-type': 'application/json',
    'user-agent': 'Service-Webhooks/1.0',
    'service-event-id': delivery.event_id,
    'service-event-type': 'webhook.test',
  });
  t.true(Number(timestamp) >= beganS && Number(timestamp) <= Date.now() / 1000);
  t.deepEqual(JSON.parse(request?.body ?? ''), {
    id: delivery.event_id,
    type: 'webhook.test',
    created_at: delivery.created_at,
    workspace_id: client.workspaceId,
    data: { webhook: { id: webhookId, url: receiver.url } },
  });

  const { response_body: body, ...stored } = delivery;
  t.is(body, null);
  t.like(stored, { event_type: 'webhook.test', status: 'delivered', response_status: 204 });
  t.like(stored, { error: null, next_attempt_at: null });
  t.is(stored.attempts.length, 1);
  t.like(stored.attempts[0], { number: 1, response_status: 204, error: null });
  const seen = (await client.get(path)).body;
  t.deepEqual(seen.deliveries, [stored]);
  t.like(seen.webhook.last_delivery, { status: 'delivered', response_status: 204 });
  t.is(other.arrived.length, 0);
});

test('a failing receiver is shown with its response, and is not retried', async (t) => {
  const { client, path, workspaceId, receiver, call } = await endpoint(
    t,
    withBody(500, 'no secret is set'),
  );

  const { response_body: body, ...delivery } = await call();

  t.is(body, 'no secret is set');
  const failure = { response_status: 500, error: 'http_error' };
  t.like(delivery, { status: 'failed', ...failure, next_attempt_at: null });
  t.like(delivery.attempts[0], failure);
  t.deepEqual((await client.get(path)).body.deliveries, [delivery]);
  const open = `select id from deliveries
    where workspace_id = ? and (status = 'pending' or synced_round < round)`;
  t.deepEqual(await execute(open, [workspaceId]), []);
  t.is(receiver.arrived.length, 1);
});

test('the first 2 KB of a long response are shown, without a partial character at the end', async (t) => {
  const long = `${'x'.repeat(2046)}€ and much more ${'y'.repeat(100_000)}`;
  const delivery = await (await endpoint(t, withBody(200, long))).call();
  t.is(delivery.status, 'delivered');
  t.is(delivery.response_body, 'x'.repeat(2046));
});

test('a receiver that never answers is a timeout, and nothing is stored before that', async (t) => {
  const { client, path, workspaceId, receiver, call } = await endpoint(t);
  const egress = api.punctual.deps.webhooks;
  const request = egress.request.bind(egress);
  const limit = new AbortController();
  egress.request = (outgoing) => {
    if (outgoing.url !== receiver.url) {
      return request(outgoing);
    }

    // The request is aborted half a second after the test has seen what is stored.
    t.is(outgoing.timeoutMs, 10_000);
    return request({ ...outgoing, timeoutMs: 600_000, signal: limit.signal });
  };
  const called = call();
  await receiver.nth(1);
  const stored = [
    await execute('select id from deliveries where workspace_id = ?', [workspaceId]),
    await execute('select id from events where workspace_id = ?', [workspaceId]),
  ];
  setTimeout(() => limit.abort(), 500);

  const { response_body: body, ...delivery } = await called;

  t.is(body, null);
  t.like(delivery, { status: 'failed', response_status: null, error: 'timeout' });
  t.true(delivery.attempts[0].duration_ms >= 490);
  t.deepEqual(stored, [[], []]);
  t.deepEqual((await client.get(path)).body.deliveries, [delivery]);
});

test('a test does not affect the failure count of an endpoint, whatever its result', async (t) => {
  const { client, path, webhookId, receiver, call } = await endpoint(t, status(500));
  const health = async () => {
    const { webhook } = (await client.get(path)).body;
    return [webhook.enabled, webhook.failing_since];
  };
  t.is((await call()).status, 'failed');
  t.deepEqual(await health(), [true, null]);

  const since = '2026-05-01T10:00:00.000Z'; // Old enough for a failed delivery to disable it.
  await execute('update webhook_endpoints set failing_since = ? where id = ?', [since, webhookId]);
  t.is((await call()).status, 'failed');
  t.deepEqual(await health(), [true, since]);
  receiver.answer = status(204);
  t.is((await call()).status, 'delivered');
  t.deepEqual(await health(), [true, since]);
});

test('a disabled endpoint is tested like any other, and stays disabled', async (t) => {
  const { client, path, receiver, call } = await endpoint(t, status(204));
  await client.patch(path, { enabled: false });

  t.like(await call(), { status: 'delivered', response_status: 204 });

  t.is(receiver.arrived.length, 1);
  t.false((await client.get(path)).body.webhook.enabled);
});

test('a failed test call is not replayed with the failed deliveries', async (t) => {
  const { client, path, store, call } = await endpoint(t, status(500));
  const since = new Date(Date.now() - 60_000).toISOString();
  t.is((await call()).status, 'failed');
  const missed = await store('failed', new Date());

  const reply = await client.post(`${path}/replay?since=${since}`);

  t.deepEqual(reply.body, { replaying: 1 });
  const { deliveries } = (await client.get(path)).body;
  t.like(
    deliveries.find(({ id }: { id: string }) => id === missed),
    { status: 'pending' },
  );
});
