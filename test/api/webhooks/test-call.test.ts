import test, { type ExecutionContext } from 'ava';
import type { RequestListener } from 'node:http';
import { newClient } from '../../support/client.ts';
import { freePort } from '../../../scripts/ports.ts';
import { startApi } from '../../support/punctual.ts';
import { isSignedWith, startReceiver } from '../../support/receiver.ts';
import { answering } from './answering.ts';
import { storeDelivery } from '../../support/seed-deliveries.ts';

const events = ['post.published'];

/** A Punctual with one endpoint at this address. */
async function world(t: ExecutionContext, url: string, allowPorts = [Number(new URL(url).port)]) {
  const punctual = await startApi(t, { allowPorts });
  const client = await newClient(punctual);
  const { webhook } = (await client.post('/webhooks', { url, events })).body;
  const path = `/webhooks/${webhook.id}`;
  const call = async () => {
    const reply = await client.post(`${path}/test`);
    t.is(reply.status, 200);
    return reply.body.delivery;
  };
  return { punctual, client, webhook, path, call };
}

/** What a test call says of a receiver that answers so. */
async function shown(t: ExecutionContext, answer: RequestListener) {
  const { url } = await answering(t, answer);
  return (await world(t, url)).call();
}

test('a test sends a signed webhook.test event now, to this endpoint only, and shows how it went', async (t) => {
  const [receiver, other] = [await startReceiver(t), await startReceiver(t)];
  const ports = [receiver.port, other.port];
  const { client, webhook, path, call } = await world(t, receiver.url, ports);
  await client.post('/webhooks', { url: other.url, events: ['webhook.test'] });

  const delivery = await call();

  const [request] = receiver.received;
  t.is(receiver.received.length, 1);
  t.true(request && (await isSignedWith(webhook.secret, request)));
  const { 'service-timestamp': timestamp, ...headers } = request?.headers ?? {};
  t.like(headers, {
    'content-type': 'application/json',
    'user-agent': 'Service-Webhooks/1.0',
    'service-event-id': delivery.event_id,
    'service-event-type': 'webhook.test',
  });
  t.true(Math.abs(Number(timestamp) - Date.now() / 1000) < 60);
  t.deepEqual(JSON.parse(request?.body ?? ''), {
    id: delivery.event_id,
    type: 'webhook.test',
    created_at: delivery.created_at,
    workspace_id: client.workspaceId,
    data: { webhook: { id: webhook.id, url: receiver.url } },
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
  t.is(other.received.length, 0);
});

test('a receiver that fails is shown with its words, and is not tried again', async (t) => {
  let requests = 0;
  const { url } = await answering(t, (_, response) => {
    requests += 1;
    response.writeHead(500).end('no secret is set');
  });
  const { punctual, client, path, call } = await world(t, url);

  const { response_body: body, ...delivery } = await call();

  t.is(body, 'no secret is set');
  const failure = { response_status: 500, error: 'http_error' };
  t.like(delivery, { status: 'failed', ...failure, next_attempt_at: null });
  t.like(delivery.attempts[0], failure);
  t.deepEqual((await client.get(path)).body.deliveries, [delivery]);
  const open = `select id from deliveries where status = 'pending' or synced_round < round`;
  t.deepEqual(await punctual.orm.em.fork().execute(open), []);
  t.is(requests, 1);
});

test('a redirect is a failure, and nobody goes there', async (t) => {
  const elsewhere = await startReceiver(t);
  const { url, port } = await answering(t, (_, response) => {
    response.writeHead(307, { location: elsewhere.url }).end();
  });
  const { call } = await world(t, url, [port, elsewhere.port]);
  t.like(await call(), { status: 'failed', response_status: 307, error: 'redirect' });
  t.is(elsewhere.received.length, 0);
});

test('of a long answer the first 2 KB are shown, without half a character at their end', async (t) => {
  const delivery = await shown(t, (_, response) => {
    response.writeHead(200).end(`${'x'.repeat(2046)}€ and much more ${'y'.repeat(100_000)}`);
  });
  t.is(delivery.status, 'delivered');
  t.is(delivery.response_body, 'x'.repeat(2046));
});

test('an answer of exactly 2 KB is shown whole', async (t) => {
  const text = `${'x'.repeat(2045)}€`;
  const delivery = await shown(t, (_, response) => response.writeHead(400).end(text));
  t.is(delivery.response_body, text);
});

test('bytes that are no text are shown as text that everybody can read', async (t) => {
  const bytes = Buffer.from([0x61, 0, 0xff, 0x62, 0xed, 0xa0, 0x80, 0x63, 0xc3]);
  const delivery = await shown(t, (_, response) => response.writeHead(200).end(bytes));
  t.is(delivery.response_body, 'a\uFFFD\uFFFDb\uFFFD\uFFFD\uFFFDc\uFFFD');
});

test('a receiver that never answers is a timeout, and nothing is written down before that', async (t) => {
  const stored: unknown[][] = [];
  const receiver = await answering(t, async () => {
    stored.push(await orm.em.fork().execute('select id from deliveries'));
    stored.push(await orm.em.fork().execute('select id from events'));
  });
  const { punctual, client, path, call } = await world(t, receiver.url);
  const { orm, deps } = punctual;
  const request = deps.egress.request.bind(deps.egress);
  deps.egress.request = (outgoing) => {
    t.is(outgoing.timeoutMs, 10_000);
    return request({ ...outgoing, timeoutMs: 500 });
  };

  const { response_body: body, ...delivery } = await call();

  t.is(body, null);
  t.like(delivery, { status: 'failed', response_status: null, error: 'timeout' });
  t.true(delivery.attempts[0].duration_ms >= 490);
  t.deepEqual(stored, [[], []]);
  t.deepEqual((await client.get(path)).body.deliveries, [delivery]);
});

test('an address that nobody listens at is shown as such', async (t) => {
  const { call } = await world(t, `http://127.0.0.1:${await freePort()}/hook`);
  t.like(await call(), { status: 'failed', response_status: null, error: 'connection_refused' });
});

test('an address that is not public any more is not called', async (t) => {
  const inside = await startReceiver(t);
  const { punctual, webhook, call } = await world(t, 'https://8.8.8.8/hook', []);
  const change = 'update webhook_endpoints set url = ? where id = ?';
  await punctual.orm.em.execute(change, [inside.url, webhook.id]);

  const delivery = await call();

  t.like(delivery, { status: 'failed', response_status: null, response_body: null });
  t.is(delivery.error, 'blocked_destination');
  t.is(inside.received.length, 0);
});

test('an endpoint that is deleted while the test is under way is not found, and nothing is left', async (t) => {
  const receiver = await answering(t, async (_, response) => {
    await client.delete(path);
    response.writeHead(204).end();
  });
  const { punctual, client, path } = await world(t, receiver.url);
  t.is((await client.post(`${path}/test`)).status, 404);
  t.deepEqual(await punctual.orm.em.fork().execute('select id from events'), []);
});

test('a test counts neither for nor against an endpoint, whether it is taken or not', async (t) => {
  let status = 500;
  const { url } = await answering(t, (_, response) => response.writeHead(status).end());
  const { punctual, client, path, call } = await world(t, url);
  const health = async () => {
    const { webhook } = (await client.get(path)).body;
    return [webhook.enabled, webhook.failing_since];
  };
  t.is((await call()).status, 'failed');
  t.deepEqual(await health(), [true, null]);

  const since = '2026-05-01T10:00:00.000Z'; // Long enough ago for a delivery to disable it.
  const fail = 'update webhook_endpoints set failing_since = ?';
  await punctual.orm.em.execute(fail, [since]);
  t.is((await call()).status, 'failed');
  t.deepEqual(await health(), [true, since]);
  status = 204;
  t.is((await call()).status, 'delivered');
  t.deepEqual(await health(), [true, since]);
});

test('a disabled endpoint is tested like any other, and stays disabled', async (t) => {
  const receiver = await startReceiver(t);
  const { client, path, call } = await world(t, receiver.url);
  await client.patch(path, { enabled: false });

  t.like(await call(), { status: 'delivered', response_status: 204 });

  t.is(receiver.received.length, 1);
  t.false((await client.get(path)).body.webhook.enabled);
});

test('another workspace’s endpoint is not tested, nor one that is not there', async (t) => {
  const receiver = await startReceiver(t);
  const { punctual, path } = await world(t, receiver.url);
  const other = await newClient(punctual);
  for (const one of [path, `/webhooks/${crypto.randomUUID()}`]) {
    t.is((await other.post(`${one}/test`)).status, 404);
  }
  t.is(receiver.received.length, 0);
});

test('a test call that failed does not come again with what else has failed', async (t) => {
  const { url } = await answering(t, (_request, response) => response.writeHead(500).end());
  const { punctual, client, path, call } = await world(t, url);
  const since = new Date(Date.now() - 60_000).toISOString();
  t.is((await call()).status, 'failed');
  await client.patch(path, { events: ['post.failed'] });
  const missed = await storeDelivery(punctual, client.workspaceId, 'failed', new Date());

  const reply = await client.post(`${path}/replay?since=${since}`);

  t.deepEqual(reply.body, { replaying: 1 });
  const { deliveries } = (await client.get(path)).body;
  t.like(
    deliveries.find(({ id }: { id: string }) => id === missed),
    { status: 'pending' },
  );
});
