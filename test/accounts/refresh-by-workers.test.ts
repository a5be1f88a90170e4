import { needs } from '../support/needs.ts';
import { killed } from '../support/worker-process.ts';
import { grantedPunctual } from './support/granted-channel.ts';
import { poll } from '../support/poll.ts';
import { tcpGate, targetOf, throughGate } from '../support/tcp-gate.ts';

const test = needs('temporal');

test('fifty posts of one channel that are due at once at two workers need one refresh and are published once', async (t) => {
  const { server, network, newChannel, startWorker } = await grantedPunctual(t);
  const channel = await newChannel({ lastsMs: -1000 });
  await Promise.all([startWorker(), startWorker()]);
  const texts = Array.from({ length: 50 }, (_, index) => `Post ${index}`);
  const dueAtMs = Date.now() + 6000;
  const posts = await Promise.all(texts.map((text) => channel.post(text, dueAtMs - Date.now())));

  for (const post of posts) {
    t.is((await channel.client.finalPost(post)).status, 'published');
  }
  t.deepEqual(server.answered(), [200]);
  t.deepEqual([...network.texts()].toSorted(), texts.toSorted());
  t.is(await channel.told(), 0);
});

test('a worker that is killed between a refresh and its commit loses the access of a network with single-use tokens, with one event', async (t) => {
  const { server, network, newChannel, startWorker } = await grantedPunctual(t);
  const channel = await newChannel({ lastsMs: -1000 });
  const taken = Promise.withResolvers<void>();
  server.control.beforeAnswer = () => {
    taken.resolve();
    return new Promise(() => undefined);
  };
  const first = await startWorker();
  const posts = [await channel.post('One'), await channel.post('Two')];
  await taken.promise;
  await killed(first.child);
  server.control.beforeAnswer = () => Promise.resolve();
  await startWorker();

  for (const post of posts) {
    const { status, channels } = await channel.client.finalPost(post);
    t.is(status, 'failed');
    t.is(channels[0]?.error_code, 'access_lost');
  }
  t.is((await channel.shown()).state, 'needs_reconnect');
  t.is(await channel.told(), 1);
  t.deepEqual(server.answered(), [200, 400]); // The old token was sent once more.

  await channel.reconnect();
  const again = await channel.post('Three');
  t.is((await channel.client.finalPost(again)).status, 'published');
  t.deepEqual(network.texts(), ['Three']);
});

const minuteMs = 60_000;

test('a token endpoint that hangs for a dozen channels does not delay the posts of channels with a usable token', async (t) => {
  const { server, network, newChannel, startWorker } = await grantedPunctual(t);
  const over = await Promise.all(Array.from({ length: 12 }, () => newChannel({ lastsMs: -1000 })));
  const [old, well] = [
    await newChannel({ lastsMs: 8 * minuteMs }), // Due for replacement, but still usable.
    await newChannel({ lastsMs: 60 * minuteMs }),
  ];
  await startWorker(); // A process that can be killed: workers in this process would wait for requests that hang.
  server.control.mood = 'silent';
  await Promise.all(over.map((channel, index) => channel.post(`Waits ${index}`)));
  await poll(
    async () => server.requests(),
    (count) => count === over.length,
  );

  const posts = [await well.post('Well'), await old.post('Old')];
  t.is((await well.client.finalPost(posts[0] ?? '', 20_000)).status, 'published');
  t.is((await old.client.finalPost(posts[1] ?? '', 20_000)).status, 'published');
  t.deepEqual([...network.texts()].toSorted(), ['Old', 'Well']);
  for (const channel of [...over, old, well]) {
    t.is((await channel.shown()).state, 'connected');
    t.is(await channel.told(), 0);
  }
});

test('new tokens are stored after an outage of the database between a refresh and its commit', async (t) => {
  const { server, punctual, newChannel, startWorker } = await grantedPunctual(t);
  const channel = await newChannel({ lastsMs: -1000 });
  const { refreshToken: spent } = await channel.grant();
  const gate = await tcpGate(t, targetOf(punctual.databaseUrl));
  const cut = Promise.withResolvers<void>();
  server.control.beforeAnswer = async () => {
    await gate.close();
    cut.resolve();
  };
  const worker = await startWorker({ DATABASE_URL: throughGate(punctual.databaseUrl, gate) });
  const post = await channel.post('In spite of it');
  await cut.promise;
  const before = worker.output().length;
  await poll(
    async () => worker.output().slice(before),
    (log) => log.includes('ECONNREFUSED'), // The response came before the worker noticed the outage.
  );
  await gate.open();

  t.is((await channel.client.finalPost(post, 90_000)).status, 'published');
  t.deepEqual(server.answered(), [200]);
  t.not((await channel.grant()).refreshToken, spent);
  t.is(await channel.told(), 0);
});

test('an account that is reconnected during a refresh of its old grant keeps the newer grant', async (t) => {
  const { server, newChannel, startWorkersInProcess } = await grantedPunctual(t);
  const channel = await newChannel({ lastsMs: -1000 });
  const asked = Promise.withResolvers<void>();
  const reconnected = Promise.withResolvers<void>();
  server.control.beforeAnswer = async () => {
    asked.resolve();
    await reconnected.promise;
  };
  await startWorkersInProcess();
  const post = await channel.post('With the newer one');
  await asked.promise;
  const newer = await channel.reconnect();
  reconnected.resolve();

  t.is((await channel.client.finalPost(post)).status, 'published');
  t.is((await channel.grant()).refreshToken, newer.refreshToken);
  t.deepEqual(server.answered(), [200]);
  t.is(await channel.told(), 0);
});
