import test, { type ExecutionContext } from 'ava';
import type { Logger } from '../../runtime/logger.ts';
import { currentGrant } from '../../services/channels/current-grant.ts';
import { type AccountDeps, registeredApps } from '../../services/channels/oauth-context.ts';
import { sweepGrants } from '../../services/channels/sweep-grants.ts';
import { clockStartMs } from '../support/attempt.ts';
import { freshDatabase } from '../support/database.ts';
import { ownPool, sharedApi } from '../support/kit.ts';
import { poll } from '../support/poll.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';
import { granted } from './granted.ts';

/** A channel with an expired access, and processes that request a new one. */
async function refreshing(t: ExecutionContext) {
  const { url } = await freshDatabase(t);
  const world = await granted(t, url, { forMs: -60_000 });
  const { deps, workspaceId } = world.steps;
  const of = { platform: 'a', baseUrl: 'https://fake.example', remoteId: 'me' };
  const channel = { workspaceId, channelId: world.channel.id, ...of };
  const ask = (other: Partial<AccountDeps> = {}) => currentGrant({ ...deps, ...other }, channel);
  const owner = ownPool(t, url);
  const run = (sql: string) => owner.em.fork().execute(sql);
  return { ...world, ask, run, databaseUrl: deps.orm.config.get('clientUrl') ?? '' };
}

/** The database refuses writes of grants from the next refresh on, until it refused at least twice. */
async function refuseTwice({ tokens, ask, run }: Awaited<ReturnType<typeof refreshing>>) {
  await run(`create function refuse() returns trigger language plpgsql security definer as $$ begin
    perform nextval('refused');
    raise exception 'cannot execute UPDATE in a read-only transaction' using errcode = '25006'; end $$`);
  await run('create sequence refused');
  tokens.slowly = async () => {
    await run(`create trigger refuse before update of sealed_grant on channel_grants
      for each row execute function refuse()`);
  };
  const [asking] = await Promise.all([
    ask().catch((error: unknown) => error),
    poll(
      () => run('select last_value::int as times from refused'),
      (rows) => ((rows as { times: number }[])[0]?.times ?? 0) >= 2,
    ).then(() => run('drop trigger refuse on channel_grants')),
  ]);
  tokens.slowly = () => Promise.resolve();
  return asking;
}

test('a database without writes for a moment, as in a failover, disconnects no channel', async (t) => {
  const world = await refreshing(t);
  const { tokens, ask, state } = world;
  const { grant } = (await refuseTwice(world)) as Awaited<ReturnType<typeof ask>>;
  t.is((await ask()).grant.refreshToken, grant.refreshToken);
  t.is(tokens.spent.length, 1);
  t.like(await state(), { state: 'connected' });
});

test('a refusal of the network is stored after a moment without writes, and the token is not sent again', async (t) => {
  const world = await refreshing(t);
  const { tokens, ask, state, told } = world;
  tokens.isOver = true;
  t.like(await refuseTwice(world), { code: 'access_lost' });
  await t.throwsAsync(ask(), { message: /ended/v });
  t.is(tokens.spent.length, 1);
  t.like(await state(), { state: 'needs_reconnect' });
  t.deepEqual(await told(), ['channel.needs_reconnect']);
});

test('after an outage the process with the new tokens stores them before another one sends the old token', async (t) => {
  const { steps, tokens, ask, run, told, databaseUrl } = await refreshing(t);
  const gate = await tcpGate(t, targetOf(databaseUrl));
  const holder = ownPool(t, throughGate(databaseUrl, gate));
  tokens.slowly = async () => {
    tokens.slowly = () => Promise.resolve();
    // As after 15 s without the database.
    await run(`update channel_grants set refreshing_until = refreshing_until - interval '20 s'`);
    await gate.close();
  };
  const couldNotStore = Promise.withResolvers<void>();
  const log = { ...steps.deps.log, warn: () => couldNotStore.resolve() } as Logger;
  const first = ask({ orm: holder, log });
  await Promise.race([first, couldNotStore.promise]);
  await gate.open();

  const [one, two] = await Promise.all([first, ask()]);
  t.is(one.grant.accessToken, two.grant.accessToken);
  t.is(tokens.spent.length, 1);
  t.deepEqual(await told(), []);
});

// One database per test, because a sweep covers the channels of all workspaces.

const dayMs = 24 * 3_600_000;
const endsIn = (days: number) => ({ forMs: days * dayMs, endsAtMs: clockStartMs + days * dayMs });

test('the owner gets one event a week before the account has to be connected again', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, tokens, told, connect, channel } = await granted(t, url, endsIn(60));
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), []);

  steps.pass(53 * dayMs + 1);
  await sweepGrants(steps.deps);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), ['channel.at_risk']);

  await connect(tokens.grant({ forMs: 60 * dayMs, endsAtMs: clockStartMs + 113 * dayMs }));
  await sweepGrants(steps.deps);
  steps.pass(54 * dayMs);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), ['channel.at_risk', 'channel.at_risk']);
  t.truthy(channel.id);
});

test('an expired access emits an event before a post fails', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, told, state } = await granted(t, url, endsIn(60));
  steps.pass(60 * dayMs);
  await sweepGrants(steps.deps);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), ['channel.needs_reconnect']);
  t.like(await state(), { state: 'needs_reconnect' });
  t.regex((await state())?.error ?? '', /ended.*Connect the channel again/v);
});

test('a revoked access emits an event a day before the post that needs it', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, tokens, told, channel } = await granted(t, url, { forMs: 3_600_000 });
  await steps.create({
    body: 'Later',
    channel_ids: [channel.id],
    schedule_in_minutes: 5 * 24 * 60,
  });
  tokens.isOver = true;
  steps.pass(3 * dayMs);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), []);

  steps.pass(1.5 * dayMs);
  await sweepGrants(steps.deps);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), ['channel.needs_reconnect']);
  t.is(tokens.spent.length, 1);
});

test('a server that is slow to refresh access delays no refresh of another account', async (t) => {
  const { url } = await freshDatabase(t);
  const lives = { forMs: 3_600_000, endsAtMs: clockStartMs + 7 * dayMs };
  const { steps, tokens, connect } = await granted(t, url, lives);
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => connect(tokens.grant(lives), name)));
  tokens.slowly = () =>
    poll(
      () => Promise.resolve(tokens.spent),
      ({ length }) => length === 5,
    );
  steps.pass(dayMs + 1);
  t.like(await sweepGrants(steps.deps), { refreshed: 5 });
});

test('a grant that a refresh extends is refreshed, without an event', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, tokens, told, channel } = await granted(t, url, {
    forMs: 3_600_000,
    endsAtMs: clockStartMs + 14 * dayMs,
  });
  const { refresh } = tokens.oauth;
  tokens.oauth.refresh = async (request) => ({
    ...(await refresh(request)),
    endsAtMs: steps.deps.now().getTime() + 14 * dayMs,
  });
  for (let day = 0; day < 30; day += 1) {
    steps.pass(dayMs);
    await sweepGrants(steps.deps);
  }

  t.deepEqual(await told(), []);
  t.true(tokens.spent.length >= 3 && tokens.spent.length <= 6, `${tokens.spent.length} refreshes`);
  t.truthy(channel.id);
});

test('the owner is warned once even if the network reports a slightly different end at each refresh', async (t) => {
  const { url } = await freshDatabase(t);
  const endsAtMs = clockStartMs + 14 * dayMs;
  const { steps, tokens, told } = await granted(t, url, { forMs: 3_600_000, endsAtMs });
  const { refresh } = tokens.oauth;
  const end = { atMs: endsAtMs };
  tokens.oauth.refresh = async (request) => {
    const fresh = await refresh(request);
    const nowMs = steps.deps.now().getTime();
    return { ...fresh, endsAtMs: nowMs + Math.floor((end.atMs - nowMs) / 1000) * 1000 + 37 };
  };
  const days = async (count: number) => {
    for (let half = 0; half < 2 * count; half += 1) {
      steps.pass(dayMs / 2 + 333);
      await sweepGrants(steps.deps);
    }
  };
  await days(13);
  t.deepEqual(await told(), ['channel.at_risk']);

  end.atMs += 30 * dayMs;
  await days(29); // The next grant ends 44 days after the beginning.
  t.deepEqual(await told(), ['channel.at_risk', 'channel.at_risk']);
});

test('an account without posts for years stays connected: its grant is refreshed once a month', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, tokens, told } = await granted(t, url, { forMs: 3_600_000 });
  for (let day = 0; day < 365; day += 5) {
    steps.pass(5 * dayMs);
    await sweepGrants(steps.deps);
  }

  t.deepEqual(await told(), []);
  t.true(tokens.spent.length >= 9 && tokens.spent.length <= 12, `${tokens.spent.length} refreshes`);
});

const api = sharedApi(test);
const server = 'https://mastodon.example';
const callback = 'https://punctual.example/connect/callback/key';

test('one of two concurrent registrations is kept, sealed, and a forgotten one can be replaced', async (t) => {
  const { deps, orm } = api.punctual;
  const apps = registeredApps(deps, t.title);
  t.is(await apps.find(server, callback), null);
  const [first, second] = [
    { clientId: 'one', clientSecret: 'a-planted-secret' },
    { clientId: 'two', clientSecret: 'another' },
  ];
  t.deepEqual(await apps.keep(server, callback, first), first);
  t.deepEqual(await apps.keep(server, callback, second), first);
  t.is(await apps.find(server, `${callback}/other`), null);
  const rows = await orm.em
    .fork()
    .execute('select * from oauth_apps where platform = ?', [t.title]);
  t.false(JSON.stringify(rows).includes('planted'));

  // Forgetting a replaced app does not remove its replacement.
  await apps.forget(server, callback, second);
  t.deepEqual(await apps.find(server, callback), first);
  await apps.forget(server, callback, first);
  t.deepEqual(await apps.keep(server, callback, second), second);
});
