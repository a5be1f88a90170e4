import test from 'ava';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { currentGrant } from '../../services/channels/current-grant.ts';
import { NetworkError } from '../../networks/network.ts';
import type { Orm } from '../../db/orm.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { holdLock } from '../support/hold-lock.ts';
import { ownPool } from '../support/kit.ts';
import { fails, liveTexts } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { granted } from './granted.ts';

const database = beforeTests(test, freshDatabase);
const minuteMs = 60_000;

const noAnswer = new NetworkError('network_unavailable', 'No answer.', { accepted: 'no' });

test('a usable access token is used, and one that expires soon is replaced first', async (t) => {
  const { used, steps, tokens, due } = await granted(t, database().url, { forMs: 30 * minuteMs });
  t.like(await (await due()).attemptOnce(), { kind: 'done', status: 'published' });
  t.is(tokens.spent.length, 0);

  steps.pass(21 * minuteMs);
  t.like(await (await due()).attemptOnce(), { kind: 'done', status: 'published' });
  t.is(tokens.spent.length, 1);
  t.notDeepEqual(used[0], used[1]);
});

test('concurrent attempts in two processes use one refresh token', async (t) => {
  const { steps, tokens, channel } = await granted(t, database().url, { forMs: -minuteMs });
  const other = ownPool(t, steps.deps.orm.config.get('clientUrl') ?? ''); // With the test's clock.
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  tokens.slowly = async () => {
    if (tokens.spent.length > 1) {
      release();
    }

    await released;
  };
  const key = {
    workspaceId: steps.workspaceId,
    channelId: channel.id,
    platform: 'a',
    baseUrl: 'https://fake.example',
    remoteId: 'me',
  };
  // A process that waits for another one's refresh polls the grant.
  const polls = new Map([steps.deps.orm, other].map((orm) => [orm, 0]));
  const watched = (orm: Orm) => ({
    ...steps.deps,
    orm,
    sealer: {
      ...steps.deps.sealer,
      open: (sealed: string, purpose: string) => {
        polls.set(orm, (polls.get(orm) ?? 0) + 1);
        if ([...polls.values()].every((count) => count > 0) && Math.max(...polls.values()) > 2) {
          release();
        }

        return steps.deps.sealer.open(sealed, purpose);
      },
    },
  });
  const many = [steps.deps.orm, other].flatMap((orm) => {
    const deps = watched(orm);
    return Array.from({ length: 25 }, () => currentGrant(deps, key));
  });
  const grants = await Promise.all(many);
  t.is(new Set(grants.map(({ grant }) => grant.accessToken)).size, 1);
  t.is(tokens.spent.length, 1);
});

test('a token endpoint that does not answer disconnects no channel: the old token is used until it expires', async (t) => {
  const world = await granted(t, database().url, { forMs: 8 * minuteMs });
  const { network, tokens, due, state, told, steps } = world;
  tokens.away = noAnswer;
  t.like(await (await due()).attemptOnce(), { kind: 'done', status: 'published' });

  steps.pass(8 * minuteMs);
  const late = await due();
  const first = await late.attemptOnce();
  t.like(first, { kind: 'again', code: 'network_unavailable' });
  t.like(await state(), { state: 'connected' });

  tokens.away = undefined;
  steps.pass(first.kind === 'again' ? (first.inMs ?? 0) : 0);
  t.like(await late.attemptOnce(), { kind: 'done', status: 'published' });
  t.is(liveTexts(network).length, 2);
  t.deepEqual(await told(), []);
});

test('a rate-limited token endpoint does not delay accounts of the same server with a usable token', async (t) => {
  const { steps, tokens, due } = await granted(t, database().url, { forMs: -minuteMs });
  tokens.away = new NetworkError('rate_limited', 'Too many.', { accepted: 'no', limit: 'server' });
  t.like(await (await due()).attemptOnce(), { kind: 'again', code: 'rate_limited' });

  const { orm, sealer } = steps.deps;
  const other = {
    baseUrl: 'https://fake.example',
    remoteId: 'other',
    handle: '@other',
    credentials: {},
    session: null,
    settings: {},
  };
  const grant = tokens.grant({ forMs: 60 * minuteMs });
  const { id } = await connectChannel(orm.em.fork(), sealer, steps.workspaceId, 'a', other, {
    grant,
  });
  const post = await steps.create({ body: 'Well', channel_ids: [id], schedule_in_minutes: 0 });
  const [target] = (await steps.claimOrThrow(post)).targets;
  const tried = await steps.attempt(post, target?.postChannelId ?? '');
  t.like(tried, { kind: 'done', status: 'published' });
});

test('an outage of a token endpoint for hours fails no post: it is published when there is a token again', async (t) => {
  const { tokens, due, state, steps } = await granted(t, database().url, { forMs: -minuteMs });
  tokens.away = noAnswer;
  const { attemptOnce } = await due();
  let attempts = 0;
  for (let passedMs = 0; passedMs < 5 * 60 * minuteMs; attempts += 1) {
    const tried = await attemptOnce();
    t.like(tried, { kind: 'again', code: 'network_unavailable' });
    const waitMs = tried.kind === 'again' ? (tried.inMs ?? 0) : 0;
    t.true(waitMs > 0 && waitMs <= 10 * minuteMs, `a wait of ${waitMs} ms`);
    passedMs += waitMs;
    steps.pass(waitMs);
  }

  t.true(attempts < 50, `${attempts} tries`);
  t.is((await state())?.state, 'connected');
  tokens.away = undefined;
  t.like(await attemptOnce(), { kind: 'done', status: 'published' });
});

test('a revoked grant emits one event, and its refresh token is not sent again', async (t) => {
  const { tokens, due, state, told } = await granted(t, database().url, { forMs: -minuteMs });
  tokens.isOver = true;
  t.like(await (await due()).attemptOnce(), {
    kind: 'done',
    status: 'failed',
    code: 'access_lost',
  });
  t.like(await (await due()).attemptOnce(), {
    kind: 'done',
    status: 'failed',
    code: 'access_lost',
  });
  t.is((await state())?.state, 'needs_reconnect');
  t.is(tokens.spent.length, 1);
  t.deepEqual(await told(), ['channel.needs_reconnect']);
});

test('a channel that needed reconnecting and publishes becomes connected', async (t) => {
  const { network, connect, tokens, due, state, told } = await granted(t, database().url, {
    forMs: 60 * minuteMs,
  });
  // Like an account with credentials of its own: only the API can be asked.
  await connect({
    ...tokens.grant({ forMs: 60 * minuteMs }),
    accessEndsAtMs: null,
    refreshToken: null,
  });
  network.fates.push(fails('access_lost'));
  t.like(await (await due()).attemptOnce(), {
    kind: 'done',
    status: 'failed',
    code: 'access_lost',
  });
  t.like(await state(), { state: 'needs_reconnect' });

  t.like(await (await due()).attemptOnce(), { kind: 'done', status: 'published' });
  t.deepEqual(await state(), { state: 'connected', error: null });
  t.deepEqual(await told(), ['channel.needs_reconnect']);
});

test('a token that is refused before its expiry is replaced, and the post is published a second later', async (t) => {
  const { network, tokens, due, state, steps } = await granted(t, database().url, {
    forMs: 60 * minuteMs,
  });
  network.fates.push(fails('access_lost'));
  const { attemptOnce } = await due();
  t.like(await attemptOnce(), { kind: 'again', code: 'network_unavailable', inMs: 1000 });
  steps.pass(1000);
  t.like(await attemptOnce(), { kind: 'done', status: 'published' });
  t.is(tokens.spent.length, 1);
  t.is((await state())?.state, 'connected');
});

test('a network that refuses new tokens does not disconnect the channel', async (t) => {
  const { network, tokens, due, state, steps, told } = await granted(t, database().url, {
    forMs: 60 * minuteMs,
  });
  network.fates.push(...Array.from({ length: 10 }, () => fails('access_lost')));
  const { attemptOnce } = await due();
  for (;;) {
    const tried = await attemptOnce();
    if (tried.kind === 'done') {
      t.like(tried, { status: 'failed', code: 'network_unavailable' });
      break;
    }

    steps.pass(tried.inMs ?? 0);
  }

  t.is((await state())?.state, 'connected');
  t.true(tokens.spent.length <= 3, `${tokens.spent.length} refreshes`);
  t.deepEqual(await told(), []);
});

test('an account that three people connect concurrently is one channel', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps } = await granted(t, url, { forMs: minuteMs });
  const { orm, sealer } = steps.deps;
  const account = {
    baseUrl: 'https://fake.example',
    remoteId: 'new',
    handle: '@new',
    credentials: {},
    session: null,
    settings: {},
  };
  // The lock blocks writes to channels, so that all three look for the account before one of them stores it.
  const lock = await holdLock(t, ownPool(t, url), 'lock table channels in share mode');
  const connecting = [1, 2, 3].map(() =>
    connectChannel(orm.em.fork(), sealer, steps.workspaceId, 'a', account),
  );
  await poll(lock.waiting, (count) => count >= connecting.length);
  lock.release();
  const channels = await Promise.all(connecting);
  t.is(new Set(channels.map(({ id }) => id)).size, 1);
});

test('an account that is connected again while its old grant is being refused keeps the new one', async (t) => {
  const { tokens, due, state, steps, connect, told } = await granted(t, database().url, {
    forMs: -minuteMs,
  });
  const { promise: refused, resolve: refuse } = Promise.withResolvers<void>();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  tokens.isOver = true;
  tokens.slowly = async () => {
    ask();
    await refused;
  };
  const { attemptOnce } = await due();
  const trying = attemptOnce();
  await asked;
  const reconnecting = connect(tokens.grant({ forMs: 60 * minuteMs }));
  refuse();
  await reconnecting;
  const tried = await trying;
  t.is((await state())?.state, 'connected');
  if (tried.kind === 'again') {
    steps.pass(tried.inMs ?? 0);
    t.like(await attemptOnce(), { kind: 'done', status: 'published' });
    t.deepEqual(await told(), []);
  }
});
