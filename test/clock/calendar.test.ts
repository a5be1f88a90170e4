import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { needs } from '../support/needs.ts';
import { startTimeSkipping, type SkippingPunctual } from '../support/time-skipping.ts';
import { untilBegun } from '../support/until-begun.ts';
import { timerEnds, untilAsleep } from '../support/waits.ts';

const test = needs('test-server');
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

// The process and its database run in time zones with daylight saving time.
process.env['TZ'] = 'America/New_York';

// Each test has its own test server and database, because one moves the clock and the other sets the time zone.

/** Records when each text is sent, by the server's clock, in milliseconds since 1970. */
function sendTimes(network: FakeNetwork, { environment }: SkippingPunctual): Map<string, number> {
  const sentAtMs = new Map<string, number>();
  const { send } = network;
  network.send = async (connection, step, files) => {
    sentAtMs.set(step.parts[0]?.text ?? '', await environment.currentTimeMs());
    return send(connection, step, files);
  };
  return sentAtMs;
}

test('posts around both clock changes of a year go out at their own instants', async (t) => {
  const network = fakeNetwork();
  const punctual = await startTimeSkipping(t, network);
  await liveInBerlin(punctual.orm);
  const sentAtMs = sendTimes(network, punctual);
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
  const handleOf = (text: string) => workflow.getHandle(posts.get(text) ?? '');
  for (const { text } of times) {
    await untilAsleep(handleOf(text)); // The clock jumps for all of them.
  }

  for (const { text } of times.toSorted((a, b) => a.atMs - b.atMs)) {
    t.is(await handleOf(text).result(), 'published');
  }

  for (const { text, atMs } of times) {
    t.deepEqual(await timerEnds(handleOf(text)), [atMs], text);
    t.true((sentAtMs.get(text) ?? 0) >= atMs, text);
  }
});

/** Times before, at and after both changes of a year. Two pairs of them show the same time on the clock. */
function aroundChanges(zone: string): { atMs: number; text: string }[] {
  const { forward, back } = nextChanges(zone, Date.now() + 24 * 60 * minute);
  return [-60, -30, -1, 0, 30, 60].flatMap((minutes) =>
    [forward, back].map((change) => {
      const atMs = change + minutes * minute;
      return { atMs, text: localTime(zone, atMs) };
    }),
  );
}

/** Sets the time zone of the database's connections, including the open ones. */
async function liveInBerlin({ em }: { em: { execute: (sql: string) => Promise<unknown> } }) {
  const [row] = (await em.execute('select current_database() as name')) as { name: string }[];
  await em.execute(`alter database ${row?.name} set timezone = 'Europe/Berlin'`);
}

const formats = new Map(
  ['Europe/Berlin', 'America/New_York'].map((timeZone) => [
    timeZone,
    new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }),
  ]),
);

/** The offset of a time zone from UTC at an instant, in milliseconds. */
function offsetMs(zone: string, atMs: number): number {
  const name = formats
    .get(zone)
    ?.formatToParts(atMs)
    .find(({ type }) => type === 'timeZoneName')?.value;
  const parts = /GMT(?:(?<sign>[+\-])(?<hours>\d\d):(?<minutes>\d\d))?/v.exec(name ?? '')?.groups;
  const { sign = '+', hours = '0', minutes = '0' } = parts ?? {};
  return Number(`${sign}1`) * (Number(hours) * hour + Number(minutes) * 60_000);
}

/**
 * The next instants at which a time zone's clocks move forward and back, in milliseconds since 1970, on whole hours.
 */
function nextChanges(zone: string, afterMs: number): { forward: number; back: number } {
  const found: { forward?: number; back?: number } = {};
  const first = Math.ceil(afterMs / hour) * hour;
  for (let at = first; at < afterMs + 400 * 24 * hour; at += hour) {
    const gain = offsetMs(zone, at) - offsetMs(zone, at - hour);
    if (gain !== 0) {
      found[gain > 0 ? 'forward' : 'back'] ??= at;
    }
  }

  const { forward, back } = found;
  if (forward === undefined || back === undefined) {
    throw new Error(`${zone} does not change its clocks twice within a year.`);
  }

  return { forward, back };
}

/** An instant as local time with its offset, as a user's program sends it. */
function localTime(zone: string, atMs: number): string {
  const offset = offsetMs(zone, atMs);
  const wall = new Date(atMs + offset).toISOString().slice(0, 'YYYY-MM-DDThh:mm:ss'.length);
  const size = new Date(Math.abs(offset)).toISOString().slice(11, 16);
  return `${wall}${offset < 0 ? '-' : '+'}${size}`;
}

/** The year of the next leap day that is at least a day away. */
function nextLeapYear(): number {
  let year = new Date(Date.now() + day).getUTCFullYear();
  while (new Date(Date.UTC(year, 1, 29)).getUTCDate() !== 29 || leapDay(year) < Date.now() + day) {
    year += 1;
  }

  return year;
}

const leapDay = (year: number): number => Date.UTC(year, 1, 29);

test('a post for the 29th of February goes out on that day in a leap year, and is refused in another', async (t) => {
  const year = nextLeapYear();
  // The API's clock is in the year before, so that the leap day is near enough to be scheduled.
  const apartMs = Math.max(leapDay(year) - 300 * day - Date.now(), 0);
  const network = fakeNetwork();
  const now = () => new Date(Date.now() + apartMs);
  const punctual = await startTimeSkipping(t, network, { now });
  const sentAtMs = sendTimes(network, punctual);
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const schedule = (at: string) =>
    client.post('/posts', { body: 'Leap', channel_ids: [channel], scheduled_at: at });

  const { body } = await schedule(`${year}-02-29T23:30:00+01:00`);
  const handle = await untilBegun(
    punctual.environment.client.workflow.getHandle(`post-${body.post.id}`),
  );
  t.is(await handle.result(), 'published');
  const atMs = Date.parse(`${year}-02-29T22:30:00Z`);
  t.deepEqual(await timerEnds(handle), [atMs]);
  t.true((sentAtMs.get('Leap') ?? 0) >= atMs);

  const { body: same } = await schedule(`${year}-02-29T23:30:00-05:00`);
  t.is(same.post.scheduled_at, `${year}-03-01T04:30:00.000Z`);
  const { body: draft } = await client.post('/posts', { body: 'A draft' });
  for (const none of [`${year - 1}-02-29T10:00:00Z`, `${year}-02-30T10:00:00Z`]) {
    const refused = await schedule(none);
    t.is(refused.status, 400);
    t.is(refused.body.code, 'invalid_scheduled_at');
    t.regex(refused.body.error, /(?:date and time|does not exist)/v);
    const checked = await client.patch(`/posts/${draft.post.id}`, { scheduled_at: none });
    t.is(checked.status, 400, 'an edit is refused as well');
  }
});
