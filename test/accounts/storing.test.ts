import test, { type ExecutionContext } from 'ava';
import { currentGrant } from '../../services/channels/current-grant.ts';
import type { AccountDeps } from '../../services/channels/oauth-context.ts';
import { NetworkError } from '../../networks/network.ts';
import type { Logger } from '../../runtime/logger.ts';
import { freshDatabase } from '../support/database.ts';
import { ownPool } from '../support/kit.ts';
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

/** The database refuses writes of grants from the next refresh on, until it refused twice. */
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
      (rows) => (rows as { times: number }[])[0]?.times === 2,
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

test('a stalled process whose lease expired does not end the lease of its successor', async (t) => {
  const { tokens, ask, run, databaseUrl } = await refreshing(t);
  const [first, second] = [ownPool(t, databaseUrl), ownPool(t, databaseUrl)];
  const asked: PromiseWithResolvers<void>[] = [];
  tokens.slowly = () => {
    const answer = Promise.withResolvers<void>();
    asked.push(answer);
    return answer.promise;
  };
  const untilAsked = (times: number) =>
    poll(
      async () => asked.length,
      (count) => count === times,
    );
  const stoodStill = ask({ orm: first });
  await untilAsked(1);
  await run(`update channel_grants set refreshing_until = refreshing_until - interval '20 s'`);
  const successor = ask({ orm: second });
  await untilAsked(2);
  tokens.away = new NetworkError('network_unavailable', 'No answer.', { accepted: 'no' });
  asked[0]?.resolve();
  await t.throwsAsync(stoodStill, { message: 'No answer.' });

  // By the database clock, as the lease is taken.
  const turn = 'select refreshing_until > clock_timestamp() as lasts from channel_grants';
  t.deepEqual(await second.em.fork().execute(turn), [{ lasts: true }]);
  tokens.away = undefined;
  asked[1]?.resolve();
  await successor;
  t.is(tokens.spent.length, 2);
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
