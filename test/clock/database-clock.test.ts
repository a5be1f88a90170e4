import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import type { Orm } from '../../db/orm.ts';
import { beforeTests } from '../support/before-tests.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import {
  accountOn,
  fails,
  fakeNetworks,
  timedNetwork,
  type FakeNetwork,
} from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers, type Punctual } from '../support/punctual.ts';
import { addFakeChannel } from '../support/seed.ts';
import { lastFailures, ownStepsOf, timerEnds } from '../support/waits.ts';
import { postWorkflowId } from '../../workflows/messages.ts';

const test = needs('temporal');
const root = new URL('../../', import.meta.url);

/**
 * Above the 30 s after which a failed try is repeated: what waits for less is too early. With two clocks mixed up it
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
    // A machine that was too slow has nothing left to wait for; whoever waits does so for that time alone.
    const others = (await timerEnds(handle)).filter((atMs) => atMs !== dueMs);
    t.deepEqual(others, []);
    t.is(await ownStepsOf(handle), 2, 'claimed at the first time of asking, and ended');
    t.deepEqual(await lastFailures(handle), [null], 'nothing held it up');
  });

  test(`with the database's clock five minutes ${word}, a channel that is parked waits until the network's time, and no longer`, async (t) => {
    const network = timedNetwork();
    const { client, channel } = await connected(punctual(), network);
    const opensMs = Date.now() + 6000;
    network.fates.push(fails('rate_limited', { retryAtMs: opensMs }));
    const send = (body: string) =>
      client.post('/posts', { body, channel_ids: [channel], schedule_in_minutes: 0 });
    const first = await send('Limited');
    const parkedUntil = await poll(
      () => parkOf(punctual(), channel),
      (until) => until !== null,
    );
    // A refusal that was written down too late is followed by a second's wait.
    const parkedMs = Date.now();

    const second = await send('After it');
    for (const { body } of [first, second]) {
      t.is((await client.finalPost(body.post.id)).status, 'published');
    }

    const after = network.sentAtMs.slice(1).map((at) => at - opensMs);
    t.is(after.length, 2, 'one try was refused, and each post went out once');
    t.true(
      after.every((ms) => ms >= 0),
      `${after.join(', ')} ms after it opened`,
    );
    const untilMs = Date.parse(parkedUntil ?? '');
    t.true(untilMs === opensMs || untilMs <= parkedMs + 1000, `parked until ${parkedUntil}`);
    // That second is counted from two moments: when it was written down, and when Temporal was told.
    const waited = (failure: string | null): boolean => {
      const saidMs = Date.parse(failure?.replace('rate_limited; the next try is at ', '') ?? '');
      return untilMs === opensMs ? saidMs === untilMs : Math.abs(saidMs - untilMs) <= 1000;
    };
    const [refused = null, ...more] = await failuresOf(punctual(), first.body.post.id);
    t.true(waited(refused), `${refused}; parked until ${parkedUntil}`);
    t.deepEqual(more, []);
    // It may have come when the channel was open again.
    const [late = null] = await failuresOf(punctual(), second.body.post.id);
    t.true(late === null || waited(late), String(late));
  });

  test(`with the database's clock five minutes ${word}, a send without an answer is settled when the network is, and made once more`, async (t) => {
    t.timeout(300_000);
    const network = timedNetwork();
    const { client, channel } = await connected(punctual(), network, 'settling');
    network.fates.push({ kind: 'vanished' });
    const { body } = await client.post('/posts', {
      body: 'Once',
      channel_ids: [channel],
      schedule_in_minutes: 0,
    });

    // Half a minute passes before the second try, and more on a machine that is busy.
    t.is((await client.finalPost(body.post.id, 290_000)).status, 'published');
    t.is(network.live.length, 1);
    const [lost = 0, repeated = 0] = network.sentAtMs;
    t.is(network.sentAtMs.length, 2);
    t.true(repeated - lost >= appearsWithinMs, `sent again after ${repeated - lost} ms`);
  });
}

// These cannot be given another clock in a test; they are the database's own words for it.
test("no statement asks for the database's time in words that the tests above cannot shift", (t) => {
  const folders = ['activities', 'api', 'cli', 'db', 'temporal', 'worker'];
  const files = folders.flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  );
  t.true(files.length > 100);
  const words = /\b(?:current_(?:timestamp|time|date)|localtime(?:stamp)?|pg_catalog\.\w+)\b/iv;
  t.deepEqual(
    files.filter((file) => words.test(readFileSync(new URL(file, root), 'utf8'))),
    [],
  );
});

/** A Punctual whose database's clock is so many minutes ahead. */
async function startShifted(scope: ExecutionContext, minutes: number): Promise<Punctual> {
  const punctual = await startApi(scope, { networks });
  await shiftClock(punctual, minutes);
  await startWorkers(scope, punctual);
  return punctual;
}

const workflowOf = ({ temporal }: Punctual, postId: string) =>
  temporal.client.workflow.getHandle(postWorkflowId(postId));

/** What the last failures of a post's channels said, when its workflow has ended. */
async function failuresOf(punctual: Punctual, postId: string): Promise<(string | null)[]> {
  const handle = workflowOf(punctual, postId);
  await handle.result();
  return lastFailures(handle);
}

/** Until when a channel is parked; null when it never was. */
async function parkOf({ orm }: Punctual, channelId: string): Promise<string | null> {
  const [row] = await orm.em
    .fork()
    .execute<{ parked_until: string | Date | null }[]>(
      'select parked_until from channels where id = ?',
      [channelId],
    );
  const until = row?.parked_until ?? null;
  return until === null ? null : new Date(until).toISOString();
}

/** A client with a channel behind which is this network. */
async function connected(punctual: Punctual, network: FakeNetwork, name = 'fake') {
  const client = await newClient(punctual);
  const account = { remoteId: accountOn(network) };
  return {
    client,
    channel: await addFakeChannel(punctual.deps, client.workspaceId, name, account),
  };
}

/** Functions of the database that tell the time; the transaction's begin, the statement's, and this moment. */
const clocks = ['now', 'transaction_timestamp', 'statement_timestamp', 'clock_timestamp'];

/** Puts functions of ours before those of the database, which every connection that is opened from now on calls. */
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

/** Connections that are open keep the clock that they began with. */
async function reopen(orm: Orm): Promise<void> {
  await orm.close();
  await orm.connect();
}
