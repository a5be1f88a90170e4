import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import type { Orm } from '../../db/orm.ts';
import { beforeTests } from '../support/before-tests.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { accountOn, fakeNetworks, timedNetwork, type FakeNetwork } from '../support/networks.ts';
import { startApi, startWorkers, type Punctual } from '../support/punctual.ts';
import { addFakeChannel } from '../support/seed.ts';
import { lastFailures, ownStepsOf, timerEnds } from '../support/waits.ts';
import { postWorkflowId } from '../../workflows/messages.ts';

const test = needs('temporal');
const root = new URL('../../', import.meta.url);

/**
 * Longer than the 30 s after which a failed attempt is repeated, so an earlier resend is an error. With mixed clocks it
 * would take five minutes.
 */
const appearsWithinMs = 33_000;

const { fake } = fakeNetworks;
const networks = fake
  ? { fake, settling: { ...fake, id: 'settling', rules: { ...fake.rules, appearsWithinMs } } }
  : {};

for (const [word, minutes] of [
  ['ahead', 5],
  ['behind', -5],
] as const) {
  const punctual = beforeTests(test, (scope) => startShifted(scope, minutes));

  test(`with the database's clock five minutes ${word}, a post goes out at its time`, async (t) => {
    const network = timedNetwork();
    const { client, channel } = await connected(punctual(), network);
    const dueMs = Date.now() + 4000;
    const { body } = await client.post('/posts', {
      body: 'On time',
      channel_ids: [channel],
      scheduled_at: new Date(dueMs).toISOString(),
    });
    const post = await client.finalPost(body.post.id);

    t.is(post.status, 'published');
    t.is(network.sentAtMs.length, 1);
    t.true((network.sentAtMs[0] ?? 0) >= dueMs);
    const handle = workflowOf(punctual(), post.id);
    await handle.result();
    // On a slow machine, the due time may have passed before the timer; otherwise there is one timer for it.
    const others = (await timerEnds(handle)).filter((atMs) => atMs !== dueMs);
    t.deepEqual(others, []);
    t.is(await ownStepsOf(handle), 2, 'one claim and one finalize');
    t.deepEqual(await lastFailures(handle), [null], 'no attempt failed');
  });

  test(`with the database's clock five minutes ${word}, a send without a response is repeated once after the network's settling time`, async (t) => {
    t.timeout(300_000);
    const network = timedNetwork();
    const { client, channel } = await connected(punctual(), network, 'settling');
    network.fates.push({ kind: 'vanished' });
    const { body } = await client.post('/posts', {
      body: 'Once',
      channel_ids: [channel],
      schedule_in_minutes: 0,
    });

    // The second attempt comes after half a minute, and later on a busy machine.
    t.is((await client.finalPost(body.post.id, 290_000)).status, 'published');
    t.is(network.live.length, 1);
    const [lost = 0, repeated = 0] = network.sentAtMs;
    t.is(network.sentAtMs.length, 2);
    t.true(repeated - lost >= appearsWithinMs, `resent after ${repeated - lost} ms`);
  });
}

// A test cannot shift these functions.
test('no statement uses a time function that the tests above cannot shift', (t) => {
  const folders = ['activities', 'api', 'cli/admin', 'db', 'temporal', 'worker'];
  const files = folders.flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  );
  t.true(files.length > 100);
  const words =
    /\b(?:current_(?:timestamp|time|date)|localtime(?:stamp)?|pg_catalog\.(?!simple\b)\w+)\b/iv;
  t.deepEqual(
    files.filter((file) => words.test(readFileSync(new URL(file, root), 'utf8'))),
    [],
  );
});

/** A service whose database's clock is `minutes` ahead. */
async function startShifted(scope: ExecutionContext, minutes: number): Promise<Punctual> {
  const punctual = await startApi(scope, { networks });
  await shiftClock(punctual, minutes);
  await startWorkers(scope, punctual);
  return punctual;
}

const workflowOf = ({ temporal }: Punctual, postId: string) =>
  temporal.client.workflow.getHandle(postWorkflowId(postId));

/** A client with a channel on this network. */
async function connected(punctual: Punctual, network: FakeNetwork, name = 'fake') {
  const client = await newClient(punctual);
  const account = { remoteId: accountOn(network) };
  return {
    client,
    channel: await addFakeChannel(punctual.deps, client.workspaceId, name, account),
  };
}

/** The database's functions for the time: of the transaction, the statement and the moment. */
const clocks = ['now', 'transaction_timestamp', 'statement_timestamp', 'clock_timestamp'];

/** Puts our functions before the database's own, for every connection that is opened from now on. */
async function shiftClock({ orm }: Punctual, minutes: number): Promise<void> {
  const em = orm.em.fork();
  await em.execute('create schema shifted');
  for (const clock of clocks) {
    await em.execute(
      `create function shifted.${clock}() returns timestamptz language sql volatile
       as $$ select pg_catalog.${clock}() + interval '${minutes} minutes' $$`,
    );
  }

  const [row] = await em.execute<{ name: string }[]>('select current_database() as name');
  await em.execute(
    `alter database ${row?.name} set search_path to shifted, pg_catalog, "$user", public`,
  );
  await em.execute(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  );
  await reopen(orm);
  for (const clock of clocks) {
    const [seen] = await orm.em
      .fork()
      .execute<{ ms: number }[]>(`select (extract(epoch from ${clock}()) * 1000)::float8 as ms`);
    const offMinutes = ((seen?.ms ?? 0) - Date.now()) / 60_000;
    assert.ok(Math.abs(offMinutes - minutes) < 1, `${clock}() is ${offMinutes} minutes off`);
  }
}

/** Open connections keep the clock with which they began. */
async function reopen(orm: Orm): Promise<void> {
  await orm.close();
  await orm.connect();
}
