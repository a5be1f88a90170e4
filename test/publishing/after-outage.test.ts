import type { Orm } from '../../db/orm.ts';
import { lateSpacingMs } from '../../domain/pacing.ts';
import { startRelay } from '../../worker/relay.ts';
import { newClient, type Client } from '../support/client.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, fakeNetworks } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers, type Punctual } from '../support/punctual.ts';
import { fakeChannel } from '../support/seed.ts';
import { testLog } from '../support/temporal.ts';

const test = needs('temporal');

const hour = 60 * 60_000;

type Send = { readonly text: string; readonly admittedAtMs: number };

/** A channel on a network that records each send, and when the channel's last late post was admitted before it. */
async function notedChannel(punctual: Punctual, workspaceId: string) {
  const network = fakeNetwork();
  const sends: Send[] = [];
  const { send } = network;
  const id = await fakeChannel(punctual, workspaceId, network);
  network.send = async (connection, step, files) => {
    const text = step.parts[0]?.text ?? '';
    sends.push({ text, admittedAtMs: await lastAdmission(punctual.orm, id) });
    return send(connection, step, files);
  };
  return { id, sends };
}

/** When a late post of a channel was last admitted, by the database's clock. Only one is sent at a time. */
async function lastAdmission(orm: Orm, channelId: string): Promise<number> {
  const sql = `select (extract(epoch from last_late_send_at) * 1000)::float8 as at_ms from channels where id = ?`;
  const [row] = await orm.em.fork().execute<{ at_ms: number }[]>(sql, [channelId]);
  return row?.at_ms ?? 0;
}

/** Two channels, and posts on both that were due an hour ago, 6 s apart. */
async function overduePosts(punctual: Punctual, count: number) {
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const channels = [
    await notedChannel(punctual, workspaceId),
    await notedChannel(punctual, workspaceId),
  ];
  const ids = new Map<number, string>();
  // Not in the order of their due times.
  for (const number of Array.from({ length: count }, (_, index) => (index * 5) % count)) {
    ids.set(number, await schedule(client, `Post ${number}`, channels, number / 10));
  }

  return { client, channels, idOf: (number: number) => ids.get(number) ?? '' };
}

async function schedule(
  client: Client,
  body: string,
  channels: readonly { readonly id: string }[],
  minutes: number,
): Promise<string> {
  const channelIds = channels.map(({ id }) => id);
  const request = { body, channel_ids: channelIds, schedule_in_minutes: minutes };
  return (await client.post('/posts', request)).body.post.id;
}

/** Posts that became due an hour ago while no worker ran, and two workers. */
const shared = beforeTests(test, async (scope) => {
  const clock = { behindMs: hour };
  const now = () => new Date(Date.now() - clock.behindMs);
  const punctual = await startApi(scope, { networks: fakeNetworks, now });
  const overdue = await overduePosts(punctual, 6);
  // Syncs posts that a busy Temporal did not accept at once, so that the workers find all of them.
  const { orm, temporal } = punctual;
  const stopRelay = startRelay({ orm, client: temporal.client, log: testLog });
  await poll(
    () => orm.em.fork().execute('select 1 from posts where synced_revision < revision'),
    (left) => left.length === 0,
  );
  await stopRelay();
  clock.behindMs = 0;
  await startWorkers(scope, punctual);
  await startWorkers(scope, punctual);
  return overdue;
});

test('after an outage, two workers send the overdue posts of each channel in the order of their times, not in one burst', async (t) => {
  const { client, channels, idOf } = shared();
  const texts = Array.from({ length: 6 }, (_, number) => `Post ${number}`);
  for (const number of texts.keys()) {
    t.is((await client.finalPost(idOf(number))).status, 'published');
  }

  for (const { sends } of channels) {
    t.deepEqual(
      sends.map(({ text }) => text),
      texts,
    );
    const times = sends.map(({ admittedAtMs }) => admittedAtMs);
    const gaps = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
    t.true(Math.min(...gaps) >= lateSpacingMs, `${gaps}`);
  }
});
