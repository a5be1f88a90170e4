import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { startTimeSkipping } from '../support/time-skipping.ts';
import { untilBegun } from '../support/until-begun.ts';
import { localTime, nextChanges } from './zone-changes.ts';

const test = needs('test-server');
const minute = 60_000;

// Wherever the servers stand: this process and its database live in places that change their clocks themselves.
process.env['TZ'] = 'America/New_York';

test('around the hours that clocks leave out, or have twice, each post goes out at its own instant', async (t) => {
  const network = fakeNetwork();
  const sentAtMs = new Map<string, number>();
  const punctual = await startTimeSkipping(t, network);
  await liveInBerlin(punctual.orm);
  const send = network.send.bind(network);
  network.send = async (connection, step, files) => {
    sentAtMs.set(step.parts[0]?.text ?? '', await punctual.environment.currentTimeMs());
    return send(connection, step, files);
  };
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const times = ['Europe/Berlin', 'America/New_York'].flatMap(aroundChanges);

  const posts = new Map<string, string>();
  for (const { text, atMs } of times) {
    const { status, body } = await client.post('/posts', {
      body: text,
      channel_ids: [channel],
      scheduled_at: text,
    });
    t.is(status, 201, text);
    t.is(body.post.scheduled_at, new Date(atMs).toISOString());
    posts.set(text, `post-${body.post.id}`);
  }

  const { workflow } = punctual.environment.client;
  for (const { text } of times.toSorted((a, b) => a.atMs - b.atMs)) {
    const handle = await untilBegun(workflow.getHandle(posts.get(text) ?? ''));
    t.is(await handle.result(), 'published');
  }

  for (const { text, atMs } of times) {
    const lateMs = (sentAtMs.get(text) ?? 0) - atMs;
    t.true(lateMs >= 0 && lateMs < minute, `${text}: ${lateMs} ms after its time`);
  }
});

/** Times before, at and after both changes of a year; two pairs of them show the same on the clock. */
function aroundChanges(zone: string): { atMs: number; text: string }[] {
  const { forward, back } = nextChanges(zone, Date.now() + 24 * 60 * minute);
  return [-60, -30, -1, 0, 30, 60].flatMap((minutes) =>
    [forward, back].map((change) => {
      const atMs = change + minutes * minute;
      return { atMs, text: localTime(zone, atMs) };
    }),
  );
}

test('the times of the tests are those at which the clocks change', (t) => {
  const { forward, back } = nextChanges('Europe/Berlin', Date.parse('2027-01-01T00:00:00Z'));
  t.is(localTime('Europe/Berlin', forward - minute), '2027-03-28T01:59:00+01:00');
  t.is(localTime('Europe/Berlin', forward), '2027-03-28T03:00:00+02:00');
  t.is(localTime('Europe/Berlin', back - 30 * minute), '2027-10-31T02:30:00+02:00');
  t.is(localTime('Europe/Berlin', back + 30 * minute), '2027-10-31T02:30:00+01:00');
  const there = nextChanges('America/New_York', Date.parse('2027-01-01T00:00:00Z'));
  t.is(localTime('America/New_York', there.forward), '2027-03-14T03:00:00-04:00');
  t.is(localTime('America/New_York', there.back), '2027-11-07T01:00:00-05:00');
});

/** Gives the database's connections a zone of their own, those that are open included. */
async function liveInBerlin({ em }: { em: { execute: (sql: string) => Promise<unknown> } }) {
  const [row] = (await em.execute('select current_database() as name')) as { name: string }[];
  await em.execute(`alter database ${row?.name} set timezone = 'Europe/Berlin'`);
}
