import { ApplicationFailure } from '@temporalio/common';
import test, { type ExecutionContext } from 'ava';
import { attemptDelivery } from '../../../../activities/attempt-delivery/attempt-delivery.ts';
import { createResolver } from '../../../../runtime/egress/resolver.ts';
import { dnsServer } from '../../../runtime/egress/support/dns-server.ts';
import { ownUrls, privateAnswers, refusedUrls } from '../../../runtime/egress/support/urls.ts';
import { answering } from '../answering.ts';
import { storeDelivery } from '../../../support/seed-deliveries.ts';
import { events, good, urlWorld, type UrlWorld } from './world.ts';

const minuteMs = 60_000;

/** An endpoint at a good address, and what changes it behind the API's back. */
async function endpoint({ punctual, client }: UrlWorld) {
  const { id } = (await client.post('/webhooks', { url: good, events })).body.webhook;
  const write = (url: string) =>
    punctual.orm.em.fork().execute('update webhook_endpoints set url = ? where id = ?', [url, id]);
  return { path: `/webhooks/${id}`, write };
}

/** Makes one attempt; its code and status as they were recorded. */
async function attempt(t: ExecutionContext, { punctual, client }: UrlWorld, deliveryId: string) {
  const request = { workspaceId: client.workspaceId, deliveryId };
  await attemptDelivery(punctual.deps, request).catch((error: unknown) =>
    t.true(error instanceof ApplicationFailure, String(error)),
  );
  const [recorded] = await punctual.orm.em
    .fork()
    .execute<{ error: string | null; response_status: number | null }[]>(
      'select error, response_status from delivery_attempts where delivery_id = ? order by number desc limit 1',
      [deliveryId],
    );
  return recorded;
}

test('none of R01 to R56 gets a connection where it was written straight into the database', async (t) => {
  const world = await urlWorld(t);
  const { write } = await endpoint(world);
  // Only its length is against it, which harms nobody.
  const { length: _, ...refused } = refusedUrls;
  for (const url of [...Object.values(refused).flat(), ...ownUrls]) {
    await write(url);
    const delivery = await storeDelivery(world.punctual, world.client.workspaceId, 'pending');
    const recorded = await attempt(t, world, delivery);
    t.deepEqual(recorded, { error: 'blocked_destination', response_status: null }, url);
  }

  t.deepEqual([world.asked, world.dialled], [[], []]);
});

test('R60 to R68: nor does a name that leads to a private address when the delivery is due', async (t) => {
  const world = await urlWorld(
    t,
    async (host) => privateAnswers[host.split('.')[0]?.toUpperCase() ?? ''] ?? [],
  );
  const { write } = await endpoint(world);
  for (const id of Object.keys(privateAnswers)) {
    await write(`https://${id.toLowerCase()}.example.com/`);
    const delivery = await storeDelivery(world.punctual, world.client.workspaceId, 'pending');
    t.is((await attempt(t, world, delivery))?.error, 'blocked_destination', id);
  }

  t.deepEqual(world.dialled, []);
});

test('a delivery to such an address ends as failed after its six attempts, without any connection', async (t) => {
  // Later than the delivery, which is stored by the real clock.
  let nowMs = Date.now() + 10 * minuteMs;
  const world = await urlWorld(t, undefined, () => new Date(nowMs));
  const { path, write } = await endpoint(world);
  await write('https://[::ffff:127.0.0.1]/');
  const delivery = await storeDelivery(world.punctual, world.client.workspaceId, 'pending');
  for (let count = 0; count < 6; count += 1) {
    await attempt(t, world, delivery);
    nowMs += 24 * 60 * minuteMs;
  }

  const [shown] = (await world.client.get(path)).body.deliveries;
  t.like(shown, { status: 'failed', error: 'blocked_destination', next_attempt_at: null });
  t.is(shown.attempts.length, 6);
  t.deepEqual(world.dialled, []);
});

test('R61, R70: a name that was public at its registration is judged anew at every attempt', async (t) => {
  let address = '93.184.216.34';
  const server = await dnsServer(t, ({ type }) => (type === 'A' ? [address] : []));
  // Later than the delivery, which is stored by the real clock.
  let nowMs = Date.now() + 10 * minuteMs;
  const resolve = createResolver({ servers: [server] });
  const world = await urlWorld(t, resolve, () => new Date(nowMs));
  const { path } = await endpoint(world);
  t.is((await world.client.patch(path, { url: 'https://hook.example.com/' })).status, 200);
  const delivery = await storeDelivery(world.punctual, world.client.workspaceId, 'pending');
  const errors: unknown[] = [];
  for (const next of ['127.0.0.1', '93.184.216.34', '10.0.0.5', '93.184.216.34']) {
    address = next;
    errors.push((await attempt(t, world, delivery))?.error);
    nowMs += 24 * 60 * minuteMs;
  }

  const [blocked, refused] = ['blocked_destination', 'connection_refused'];
  t.deepEqual(errors, [blocked, refused, blocked, refused]);
  t.deepEqual(world.dialled, ['93.184.216.34', '93.184.216.34']);
});

test('an answer tells nothing of what is inside: open and closed ports and names look all the same', async (t) => {
  const inside = await answering(t, (_, response) => response.end('secret'));
  const world = await urlWorld(t, async (host) =>
    host === 'db.example.com' ? ['10.0.0.5'] : ['127.0.0.1'],
  );
  const { path, write } = await endpoint(world);
  const urls = [
    `https://127.0.0.1:${inside.port}/`,
    `http://127.0.0.1:${inside.port}/`,
    'https://127.0.0.1:9/',
    'https://10.255.255.1/',
    `https://open.example.com:${inside.port}/`,
    'https://db.example.com/',
  ];
  const answers = new Set<string>();
  for (const url of urls) {
    await write(url);
    answers.add(await withoutItsOwn(t, world, path));
  }

  t.is(answers.size, 1, [...answers].join('\n'));
  t.deepEqual(world.dialled, []);
});

/** What a test call says, without what tells deliveries apart. */
async function withoutItsOwn(t: ExecutionContext, { client }: UrlWorld, path: string) {
  const { status, body } = await client.post(`${path}/test`);
  t.is(status, 200);
  const { id: _, event_id: __, created_at: ___, attempts, ...rest } = body.delivery;
  t.is(attempts.length, 1);
  return JSON.stringify({ ...rest, code: attempts[0].error });
}
