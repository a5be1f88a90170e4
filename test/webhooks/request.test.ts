import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import type { ActivityDeps } from '../../activities/deps.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { createAuthority } from '../runtime/egress/support/certificates.ts';
import { dns, testEgress } from '../runtime/egress/support/egress.ts';
import { tlsServer, type TestServer } from '../runtime/egress/support/servers.ts';
import { inTurn, status } from '../support/answers.ts';
import { isSignedWith } from '../support/receiver.ts';
import { readRequests, type Arrived } from '../support/receivers.ts';
import { sharedWebhooks, type Subscription } from '../support/webhooks.ts';

const api = sharedWebhooks(test);
const execute = <T = unknown>(sql: string, values: unknown[]): Promise<T[]> =>
  api.punctual.orm.em.fork().execute<T[]>(sql, values);

/** Makes all attempts of a delivery at their times. @returns the delivery's id. */
async function deliverFully(
  { event, attempt, pass }: Subscription,
  body?: string,
): Promise<string> {
  const delivery = await event();
  if (body !== undefined) {
    // Written to the row, because JavaScript cannot write some numbers that JSON from elsewhere has.
    await execute(
      'update events set body = ? where id = (select event_id from deliveries where id = ?)',
      [body, delivery],
    );
  }

  for (let made = await attempt(delivery); made.kind === 'again'; made = await attempt(delivery)) {
    pass(made.inMs ?? 0);
  }

  return delivery;
}

test('a request has exactly these headers, and both of its signatures are valid', async (t) => {
  const { event, attempt, receiver, secret, shown, now, pass } = await api.subscribe(status(204));
  pass(0);
  const delivery = await event({ text: 'grüße' });
  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });

  const request = await receiver.nth(1);
  const { event_id: id } = await shown(delivery);
  const { headers, lines, path } = request;
  t.is(lines[0], `POST ${path} HTTP/1.1`);
  t.is(lines.length - 1, Object.keys(headers).length); // No header is repeated.
  t.deepEqual(headers, {
    host: `127.0.0.1:${api.port}`,
    connection: 'keep-alive',
    'accept-encoding': 'identity',
    'content-type': 'application/json',
    'content-length': String(request.bytes.length),
    'user-agent': 'Service-Webhooks/1.0',
    'service-event-id': id,
    'service-event-type': 'post.failed',
    'service-timestamp': String(Math.floor(now().getTime() / 1000)),
    'service-signature': headers['service-signature'],
    'webhook-id': id,
    'webhook-timestamp': headers['service-timestamp'],
    'webhook-signature': headers['webhook-signature'],
  });
  t.regex(headers['service-signature'] ?? '', /^sha256=[0-9a-f]{64}$/v);
  t.true(await isSignedWith(secret, request));
  t.notThrows(() => new Webhook(secret).verify(request.bytes, { ...headers }));
  t.is(JSON.parse(request.body).id, id);
  t.is(JSON.parse(request.body).data.text, 'grüße');
});

test('every attempt sends the same bytes, with the order of keys, big numbers and every character', async (t) => {
  const body =
    '{"b":1,"a":12345678901234567890,"10":1e400,"2":-0.10,"a":"twice","é":"grüße 🎉 \u2028\u2029 \\u0000 \\ud800 \u007f", "spaced" : [ ] }';
  const subscribed = await api.subscribe(status(500));
  await deliverFully(subscribed, body);

  const { arrived } = subscribed.receiver;
  t.is(arrived.length, 6);
  for (const { bytes } of arrived) {
    t.true(bytes.equals(Buffer.from(body, 'utf8')));
  }
});

test('every attempt has the same event id, a newer timestamp and a valid signature of its own', async (t) => {
  const subscribed = await api.subscribe(status(503));
  await deliverFully(subscribed);

  const { receiver, secret } = subscribed;
  const all = (name: string) => receiver.arrived.map(({ headers }) => headers[name] ?? '');
  t.is(receiver.arrived.length, 6);
  t.is(new Set([...all('service-event-id'), ...all('webhook-id')]).size, 1);
  t.is(new Set(all('service-signature')).size, 6);
  t.is(new Set(all('webhook-signature')).size, 6);
  const times = all('service-timestamp').map(Number);
  t.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  t.is(new Set(times).size, 6);
  for (const request of receiver.arrived) {
    t.true(await isSignedWith(secret, request));
    t.false(await isSignedWith(secret, { ...request, body: `${request.body} ` }));
  }
});

for (const code of [301, 302, 303, 307, 308]) {
  test(`a redirect by ${code} fails, and its target gets no request`, async (t) => {
    const target = api.receiver(status(204));
    const answer = status(code, { location: target.url });
    const subscribed = await api.subscribe(inTurn(answer, status(204)));
    const delivery = await subscribed.event();

    t.like(await subscribed.attempt(delivery), { kind: 'again', code: 'redirect' });

    t.like((await subscribed.shown(delivery)).attempts, [
      { number: 1, response_status: code, error: 'redirect' },
    ]);
    t.is(target.arrived.length, 0);
    t.is(subscribed.receiver.arrived.length, 1);
  });
}

test('a worker with another SECRET_KEY sends nothing, counts nothing, and logs the cause', async (t) => {
  const { attempt, event, shown, receiver, secret, webhookId } = await api.subscribe(status(204));
  const lines: { message: string; fields: string }[] = [];
  const error = (fields: object, message: string): void =>
    void lines.push({ message, fields: JSON.stringify(fields) });
  const log = { error } as unknown as ActivityDeps['log'];
  const sealer = createSealer(randomBytes(32).toString('hex'));
  const deliveries = await Promise.all(Array.from({ length: 6 }, () => event()));

  for (const id of deliveries) {
    // Temporal's own retry policy applies, without an end.
    const attempted = await attempt(id, { sealer, log });
    t.deepEqual(attempted, { kind: 'again', code: 'secret_unreadable', inMs: null });
  }

  t.is(receiver.arrived.length, 0);
  t.is(lines.length, 6);
  const [line] = lines;
  t.regex(line?.message ?? '', /signing secret cannot be opened with this SECRET_KEY/v);
  t.true(line?.fields.includes(webhookId));
  t.true(line?.fields.includes('sealed under another SECRET_KEY'));
  t.false(line?.fields.includes(secret));
  for (const id of deliveries) {
    t.like(await shown(id), { status: 'pending', attempts: [], error: null });
  }

  // The operator restores the right key.
  for (const id of deliveries) {
    t.deepEqual(await attempt(id), { kind: 'done', status: 'delivered' });
  }
});

const authority = createAuthority();
const name = 'hook.example.com';

/** An endpoint on a TLS server, and an egress that trusts the tests' certificate authority. */
async function subscribeAt(
  t: ExecutionContext,
  { port }: TestServer,
): Promise<{ subscribed: Subscription; deps: Partial<ActivityDeps> }> {
  const subscribed = await api.subscribe();
  const { webhookId, workspaceId } = subscribed;
  await execute('update webhook_endpoints set url = ? where id = ? and workspace_id = ?', [
    `https://${name}:${port}/hook`,
    webhookId,
    workspaceId,
  ]);
  const resolve = dns({ [name]: ['127.0.0.1'] });
  const egress = testEgress(t, { ca: authority.ca, allow: `127.0.0.1/32:${port}`, resolve });
  return { subscribed, deps: { webhooks: egress } };
}

test('an event arrives over TLS, signed, at a receiver with a valid certificate', async (t) => {
  const arrived: Arrived[] = [];
  const server = await tlsServer(t, authority.issueFor([name]), (socket) =>
    readRequests(socket, (request) => {
      arrived.push(request);
      status(204)(socket, 1);
    }),
  );
  const { subscribed, deps } = await subscribeAt(t, server);

  const done = await subscribed.attempt(await subscribed.event(), deps);

  t.deepEqual(done, { kind: 'done', status: 'delivered' });
  t.is(arrived.length, 1);
  t.is(arrived[0]?.headers['host'], `${name}:${server.port}`);
  t.true(arrived[0] && (await isSignedWith(subscribed.secret, arrived[0])));
});
