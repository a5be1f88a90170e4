import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { startTimeSkipping } from '../support/time-skipping.ts';
import { untilBegun } from '../support/until-begun.ts';

const test = needs('test-server');
const day = 24 * 60 * 60_000;

/** The next leap day that is at least a day away. */
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
  // The API stands in the year before, so that the leap day is near enough to be scheduled.
  const apartMs = Math.max(leapDay(year) - 300 * day - Date.now(), 0);
  const network = fakeNetwork();
  const sentAtMs: number[] = [];
  const now = () => new Date(Date.now() + apartMs);
  const punctual = await startTimeSkipping(t, network, { now });
  const send = network.send.bind(network);
  network.send = async (...args) => {
    sentAtMs.push(await punctual.environment.currentTimeMs());
    return send(...args);
  };
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const schedule = (at: string) =>
    client.post('/posts', { body: 'Leap', channel_ids: [channel], scheduled_at: at });

  const { body } = await schedule(`${year}-02-29T23:30:00+01:00`);
  const handle = await untilBegun(
    punctual.environment.client.workflow.getHandle(`post-${body.post.id}`),
  );
  t.is(await handle.result(), 'published');
  const lateMs = (sentAtMs[0] ?? 0) - Date.parse(`${year}-02-29T22:30:00Z`);
  t.true(lateMs >= 0 && lateMs < 60_000, `${lateMs} ms after its time`);

  const { body: same } = await schedule(`${year}-02-29T23:30:00-05:00`);
  t.is(same.post.scheduled_at, `${year}-03-01T04:30:00.000Z`);
  for (const none of [`${year - 1}-02-29T10:00:00Z`, `${year}-02-30T10:00:00Z`]) {
    const refused = await schedule(none);
    t.is(refused.status, 400);
    t.is(refused.body.code, 'invalid_scheduled_at');
    t.regex(refused.body.error, /existing time/v);
    const checked = await client.patch(`/posts/${same.post.id}`, { scheduled_at: none });
    t.is(checked.status, 400, 'an edit is as strict');
  }
});
