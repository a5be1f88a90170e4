import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createApiKey, createWorkspace } from '../../cli/admin/workspaces.ts';
import { createDatabaseClock } from '../../db/database-clock.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import { clientFor } from '../support/client.ts';
import { startApiProcess } from '../support/api-process.ts';
import { freshDatabase, patience } from '../support/database.ts';
import { heldClock } from '../support/database-clock.ts';
import { noTemporal } from '../support/media-library.ts';
import { poll } from '../support/poll.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';

const hour = 3_600_000;
const startMs = Date.parse('2027-03-01T09:00:00.000Z');

/** A database and a machine whose clocks the test sets separately. */
async function apart(t: ExecutionContext, machineMs: number) {
  const { url } = await freshDatabase(t);
  const database = await heldClock(t, url, startMs);
  const gate = await tcpGate(t, targetOf(database.url));
  const orm = createOrm(throughGate(database.url, gate), patience);
  t.teardown(() => orm.close());
  const lines: string[] = [];
  const machine = { readings: [] as number[], nowMs: machineMs };
  const clock = createDatabaseClock(
    orm,
    { warn: (_, line) => lines.push(line) },
    () => machine.readings.shift() ?? machine.nowMs,
  );
  return { clock, database, gate, lines, machine };
}

for (const [where, machineMs, line] of [
  ['a year ahead', startMs + 365 * 24 * hour, '31536000 s ahead of'],
  ['an hour behind', startMs - hour, '3600 s behind'],
] as const) {
  test(`a machine whose clock is ${where} uses the database's clock, and logs it once`, async (t) => {
    const { clock, lines, machine } = await apart(t, machineMs);

    await clock.measure();
    await clock.measure();

    t.is(clock.now().getTime(), startMs);
    machine.nowMs += 1234;
    t.is(clock.now().getTime(), startMs + 1234, 'the clock advances without a query');
    t.deepEqual(lines, [`this machine's clock is ${line} the database's, which counts`]);
  });
}

test("a change of the machine's or the database's clock is corrected by the next measurement", async (t) => {
  const { clock, database, machine } = await apart(t, startMs);
  await clock.measure();

  machine.nowMs -= hour;
  await clock.measure();
  t.is(clock.now().getTime(), startMs);

  database.pass(2 * hour);
  await database.caughtUp();
  await clock.measure();
  t.is(clock.now().getTime(), startMs + 2 * hour);
});

test('a slow response corrects the clock only as far as it proves it wrong', async (t) => {
  const { clock, lines, machine } = await apart(t, startMs);

  machine.readings = [startMs - 4000, startMs + 1000];
  await clock.measure();
  t.is(clock.now().getTime(), startMs, 'the clocks may be equal');

  machine.readings = [startMs + 1000, startMs + 5000];
  await clock.measure();
  t.is(clock.now().getTime(), startMs - 3000, 'this clock was ahead by one to five seconds');
  t.is(lines.length, 1);
});

test('while the database is unavailable, the last measurement applies', async (t) => {
  const { clock, gate } = await apart(t, startMs + hour);
  await clock.measure();
  await gate.close();

  await t.throwsAsync(clock.measure());
  t.is(clock.now().getTime(), startMs);
});

/** A Node option that moves the process's clock: a module that loads before the program. */
const shifted = (ms: number): string => {
  const program = `const now = Date.now.bind(Date);
    globalThis.Date = class extends Date {
      constructor(...args) { args.length === 0 ? super(now() + ${ms}) : super(...args); }
      static now() { return now() + ${ms}; }
    };`;
  return `--import=data:text/javascript,${encodeURIComponent(program)}`;
};

test('an API on a machine a year ahead keeps a secret for a day by the clock of the database', async (t) => {
  const { url: databaseUrl, orm } = await freshDatabase(t);
  const workspaceId = await createWorkspace(orm.em.fork(), 'Test');
  const key = await createApiKey(orm.em.fork(), workspaceId);
  const api = await startApiProcess(t, {
    ...noTemporal,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: randomBytes(32).toString('hex'),
    NODE_OPTIONS: shifted(365 * 24 * hour),
  });
  await poll(
    async () => api.log(),
    (log) => log.includes('the database is ready'),
  );
  const client = clientFor(api.url, workspaceId, key);

  const fromMs = await nowOf(orm);
  const endpoint = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };
  const { webhook } = (await client.post('/webhooks', endpoint)).body;
  const rotated = (await client.post(`/webhooks/${webhook.id}/rotate`)).body.webhook;
  const untilMs = await nowOf(orm);

  const isBetween = (at: string, laterMs: number): boolean =>
    Date.parse(at) - laterMs >= fromMs - 1000 && Date.parse(at) - laterMs <= untilMs + 1000;
  t.true(isBetween(webhook.created_at, 0), webhook.created_at);
  t.true(isBetween(rotated.rotates_at, 24 * hour), JSON.stringify(rotated));
  t.regex(api.log(), /this machine's clock is 3153\d{4} s ahead of the database's, which counts/v);
});

async function nowOf(orm: Orm): Promise<number> {
  const sql = 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms';
  const [row] = await orm.em.fork().execute<{ ms: number }[]>(sql);
  return row?.ms ?? 0;
}
