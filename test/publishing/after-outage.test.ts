import type { ExecutionContext } from 'ava';
import { addFakeChannel } from '../support/seed.ts';
import { newClient, type Client } from '../support/client.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { testLog } from '../support/temporal.ts';
import { startRelay } from '../../worker/relay.ts';

const test = needs('temporal');

const hour = 60 * 60_000;
/** A machine may be busy. */
const patienceMs = 120_000;
/** Less than the 2 s between two sends: how long each takes may differ. */
const shortestGapMs = 1500;

type Send = { readonly text: string; readonly atMs: number };

/** A network that notes when each post arrives, by channel. */
function notedNetwork() {
  const network = fakeNetwork();
  const sends = new Map<string, Send[]>();
  const { send } = network;
  network.send = async (connection, step, files) => {
    const noted = sends.get(connection.remoteId) ?? [];
    noted.push({ text: step.parts[0]?.text ?? '', atMs: Date.now() });
    sends.set(connection.remoteId, noted);
    return send(connection, step, files);
  };
  return { network, sends };
}

/** Two channels, and posts that became due while no worker ran, an hour ago. */
async function afterOutage(t: ExecutionContext, count: number) {
  const { network, sends } = notedNetwork();
  const clock = { behindMs: hour };
  const now = () => new Date(Date.now() - clock.behindMs);
  const punctual = await startApi(t, { networks: { fake: network }, now });
  const client = await newClient(punctual);
  const channels: string[] = [];
  for (const remoteId of ['a', 'b']) {
    channels.push(await addFakeChannel(punctual.deps, client.workspaceId, 'fake', { remoteId }));
  }

  // Not in the order of their times, which are 6 s apart.
  const numbers = Array.from({ length: count }, (_, index) => (index * 5) % count);
  const ids = new Map<number, string>();
  for (const number of numbers) {
    ids.set(number, await schedule(client, `Post ${number}`, channels, number / 10));
  }

  // What a busy Temporal did not hear at once, so that the workers find all of them.
  const { orm, temporal } = punctual;
  const stopRelay = startRelay({ orm, client: temporal.client, log: testLog });
  await poll(
    () => orm.em.fork().execute('select 1 from posts where synced_revision < revision'),
    (untold) => untold.length === 0,
    patienceMs,
  );
  await stopRelay();
  clock.behindMs = 0;
  return { punctual, client, channels, sends, ids };
}

async function schedule(
  client: Client,
  body: string,
  channels: readonly string[],
  minutes: number,
): Promise<string> {
  const request = { body, channel_ids: channels, schedule_in_minutes: minutes };
  const answer = await client.post('/posts', request);
  return answer.body.post.id;
}

const inOrder = (count: number): string[] =>
  Array.from({ length: count }, (_, number) => `Post ${number}`);

test('after an outage the overdue posts of each channel go out in the order of their times, not in one burst, by two workers', async (t) => {
  t.timeout(2 * patienceMs);
  const count = 6;
  const { punctual, client, sends, ids } = await afterOutage(t, count);
  await startWorkers(t, punctual);
  await startWorkers(t, punctual);
  for (const id of ids.values()) {
    t.is((await client.finalPost(id, patienceMs)).status, 'published');
  }

  t.is(sends.size, 2);
  for (const [channel, noted] of sends) {
    t.deepEqual(
      noted.map(({ text }) => text),
      inOrder(count),
      channel,
    );
    const gaps = noted.slice(1).map(({ atMs }, index) => atMs - (noted[index]?.atMs ?? 0));
    t.true(Math.min(...gaps) > shortestGapMs, `${channel}: ${gaps}`);
    t.log(`${channel}: ${gaps} ms between the sends`);
  }
});

test('while overdue posts wait, one that is due now goes out, and a cancelled one makes room', async (t) => {
  t.timeout(2 * patienceMs);
  const count = 8;
  const { punctual, client, channels, sends, ids } = await afterOutage(t, count);
  await startWorkers(t, punctual);
  const cancelled = ids.get(6) ?? '';
  const isWaiting = await poll(
    async () => (await client.get(`/posts/${cancelled}`)).body.post,
    (post) => post.channels[0].status === 'retrying',
    patienceMs,
  );
  t.like(isWaiting.channels[0], { error_code: 'rate_limited' });
  t.regex(isWaiting.channels[0].error, /Overdue posts of a channel go out one after the other/v);
  await client.post(`/posts/${cancelled}/cancel`);
  await client.finalPost(await schedule(client, 'Now', channels, 0), patienceMs);
  const last = ids.get(7) ?? '';
  t.is((await client.finalPost(last, patienceMs)).status, 'published');
  const { post } = (await client.get(`/posts/${cancelled}`)).body;
  t.like(post, { status: 'draft', scheduled_at: null });
  for (const noted of sends.values()) {
    const sent = noted.map(({ text }) => text);
    t.true(sent.indexOf('Now') < sent.indexOf('Post 7'), `${sent}`);
    t.deepEqual(
      sent.filter((text) => text !== 'Now'),
      inOrder(count).filter((text) => text !== 'Post 6'),
    );
  }
});
