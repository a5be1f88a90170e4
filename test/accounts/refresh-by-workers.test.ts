import { needs } from '../support/needs.ts';
import { killed } from '../support/worker-process.ts';
import { grantedPunctual } from './support/granted-channel.ts';

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
