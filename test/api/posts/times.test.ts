import test, { type ExecutionContext } from 'ava';
import { newClient, type Reply } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';

const minuteMs = 60_000;

async function scheduler(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  return (time: object): Promise<Reply> =>
    client.post('/posts', { body: 'x', channel_ids: [channel], ...time });
}

const dueMs = (reply: Reply): number => Date.parse(reply.body.post.scheduled_at);

test('minutes count from the server’s clock: 0 is now, fractions count', async (t) => {
  const schedule = await scheduler(t);
  for (const minutes of [0, 0.5, 1 / 60, 90.25, 525_600]) {
    const before = Date.now();
    const reply = await schedule({ schedule_in_minutes: minutes });
    const after = Date.now();
    t.is(reply.status, 201, String(minutes));
    t.is(reply.body.post.status, 'scheduled');
    t.true(dueMs(reply) >= Math.floor(before + minutes * minuteMs), String(minutes));
    t.true(dueMs(reply) <= Math.ceil(after + minutes * minuteMs), String(minutes));
  }
});

test('minutes win over a time, whatever that says', async (t) => {
  const schedule = await scheduler(t);
  const soon = new Date(Date.now() + 60 * minuteMs).toISOString();
  for (const time of [soon, null, '2020-01-01T00:00:00Z', 'no time at all']) {
    const reply = await schedule({ scheduled_at: time, schedule_in_minutes: 0 });
    t.is(reply.status, 201, String(time));
    t.true(Math.abs(dueMs(reply) - Date.now()) < 30_000, String(time));
  }
});

test('a time up to 5 minutes ago means now, and an older one is refused with the server’s time', async (t) => {
  const schedule = await scheduler(t);
  const before = Date.now();
  const reply = await schedule({ scheduled_at: new Date(before - 4.5 * minuteMs).toISOString() });
  t.is(reply.status, 201);
  t.true(dueMs(reply) >= before && dueMs(reply) <= Date.now());

  const late = await schedule({ scheduled_at: new Date(before - 5.1 * minuteMs).toISOString() });
  t.is(late.status, 400);
  t.is(late.body.code, 'invalid_scheduled_at');
  t.regex(late.body.error, /past.*\d{4}-\d\d-\d\dT/v);
});

test('an instant comes back in UTC with milliseconds, however its offset was written', async (t) => {
  const schedule = await scheduler(t);
  const year = new Date().getUTCFullYear() + 1;
  const spellings: [string, string][] = [
    [`${year}-05-01T09:30:00Z`, `${year}-05-01T09:30:00.000Z`],
    [`${year}-05-01t09:30:00z`, `${year}-05-01T09:30:00.000Z`],
    [`${year}-05-01T11:30:00+02:00`, `${year}-05-01T09:30:00.000Z`],
    [`${year}-05-01T00:00:00+05:45`, `${year}-04-30T18:15:00.000Z`],
    [`${year}-12-31T23:30:00-01:00`, `${year + 1}-01-01T00:30:00.000Z`],
    [`${year}-05-01T09:30:00.5Z`, `${year}-05-01T09:30:00.500Z`],
    [`${year}-05-01T09:30:00.123456789Z`, `${year}-05-01T09:30:00.123Z`],
    [`${year}-05-01T09:30:00-00:00`, `${year}-05-01T09:30:00.000Z`],
  ];
  for (const [sent, expected] of spellings) {
    const reply = await schedule({ scheduled_at: sent });
    t.is(reply.status, 201, sent);
    t.is(reply.body.post.scheduled_at, expected, sent);
  }
});

test('29 February is a day in a leap year only', async (t) => {
  const schedule = await scheduler(t);
  const now = new Date();
  const thisYear = now.getUTCFullYear();
  const isLeap = (year: number): boolean => new Date(Date.UTC(year, 1, 29)).getUTCDate() === 29;
  for (const year of [thisYear, thisYear + 1, thisYear + 2]) {
    const at = Date.UTC(year, 1, 28, 12);
    const inReach = at > now.getTime() && at < now.getTime() + 700 * 24 * 60 * minuteMs;
    if (inReach) {
      const reply = await schedule({ scheduled_at: `${year}-02-29T12:00:00Z` });
      t.is(reply.status, isLeap(year) ? 201 : 400, String(year));
    }
  }
});
