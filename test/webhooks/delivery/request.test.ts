import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { isSignedWith } from '../../support/receiver.ts';
import { inTurn, status } from '../support/answers.ts';
import { sharedWorld } from '../support/shared-world.ts';
import type { Subscribed } from '../support/world.ts';

const world = sharedWorld(test);

/** All attempts that a delivery has, each at its time. @returns the delivery's id. */
async function deliverFully({ event, attempt, pass }: Subscribed, body?: string): Promise<string> {
  const delivery = await event();
  if (body !== undefined) {
    // Straight into the row: JSON from outside of JavaScript has numbers that JavaScript cannot write.
    await world.punctual.orm.em
      .fork()
      .execute(
        'update events set body = ? where id = (select event_id from deliveries where id = ?)',
        [body, delivery],
      );
  }

  for (let made = await attempt(delivery); made.kind === 'again'; made = await attempt(delivery)) {
    pass(made.inMs ?? 0);
  }

  return delivery;
}

test('a request has exactly these headers, and both of its signatures are right', async (t) => {
  const { event, attempt, receiver, secret, shown } = await world.subscribe(status(204));
  const delivery = await event({ text: 'grüße' });
  t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });

  const request = await receiver.nth(1);
  const { event_id: id } = await shown(delivery);
  const { headers, lines, path } = request;
  t.is(lines[0], `POST ${path} HTTP/1.1`);
  t.is(lines.length - 1, Object.keys(headers).length); // None came twice.
  t.deepEqual(headers, {
    host: `127.0.0.1:${world.stage.port}`,
    connection: 'keep-alive',
    'accept-encoding': 'identity',
    'content-type': 'application/json',
    'content-length': String(request.bytes.length),
    'user-agent': 'Service-Webhooks/1.0',
    'service-event-id': id,
    'service-event-type': 'post.failed',
    'service-timestamp': headers['service-timestamp'],
    'service-signature': headers['service-signature'],
    'webhook-id': id,
    'webhook-timestamp': headers['service-timestamp'],
    'webhook-signature': headers['webhook-signature'],
  });
  t.regex(headers['service-signature'] ?? '', /^sha256=[0-9a-f]{64}$/v);
  t.true(await isSignedWith(secret, request));
  t.notThrows(() => new Webhook(secret).verify(request.bytes, { ...headers }));
  t.true(Math.abs(Number(headers['service-timestamp']) * 1000 - Date.now()) < 60_000);
  t.is(JSON.parse(request.body).id, id);
  t.is(JSON.parse(request.body).data.text, 'grüße');
});

test('the same bytes arrive at every attempt: order of keys, big numbers and every character', async (t) => {
  const body =
    '{"b":1,"a":12345678901234567890,"10":1e400,"2":-0.10,"a":"twice","é":"grüße 🎉 \u2028\u2029 \\u0000 \\ud800 \u007f", "spaced" : [ ] }';
  const subscribed = await world.subscribe(status(500));
  await deliverFully(subscribed, body);

  const { arrived } = subscribed.receiver;
  t.is(arrived.length, 6);
  for (const { bytes } of arrived) {
    t.true(bytes.equals(Buffer.from(body, 'utf8')));
  }
});

test('every attempt has the same event id, a newer timestamp, and a signature of its own that is right', async (t) => {
  const subscribed = await world.subscribe(status(503));
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
    const target = world.stage.receiver(status(204));
    const answer = status(code, { location: target.url });
    const subscribed = await world.subscribe(inTurn(answer, status(204)));
    const delivery = await subscribed.event();

    t.like(await subscribed.attempt(delivery), { kind: 'again', code: 'redirect' });

    t.like((await subscribed.shown(delivery)).attempts, [
      { number: 1, response_status: code, error: 'redirect' },
    ]);
    t.is(target.arrived.length, 0);
    t.is(subscribed.receiver.arrived.length, 1);
  });
}

test('an event type that would break out of its header reaches nobody', async (t) => {
  const { client, event, attempt, receiver } = await world.subscribe(status(204));
  const hook = { url: receiver.url, events: ['post.failed\r\nx-evil: 1'] };
  t.is((await client.post('/webhooks', hook)).body.code, 'invalid_events');

  const delivery = await event();
  const em = world.punctual.orm.em.fork();
  for (const type of ['post.failed\r\nx-evil: 1', 'a\nb', 'post.\u00e9', 'post.\u{1F389}', '']) {
    await em.execute(
      'update events set type = ? where id = (select event_id from deliveries where id = ?)',
      [type, delivery],
    );
    await t.throwsAsync(attempt(delivery), { instanceOf: TypeError }, JSON.stringify(type));
  }

  const attempts = await em.execute<unknown[]>(
    'select id from delivery_attempts where delivery_id = ?',
    [delivery],
  );
  t.is(attempts.length, 0);
  t.is(receiver.arrived.length, 0);
});
