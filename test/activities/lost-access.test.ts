import test, { type ExecutionContext } from 'ava';
import { Channel } from '../../db/entities/channels.ts';
import type { Json } from '../../domain/json-schema.ts';
import { NetworkError } from '../../networks/network.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { postSteps } from '../support/post-steps.ts';
import { processedPost, processingNetwork } from './processing-network.ts';

const database = beforeTests(test, freshDatabase);

/** A due post on an account that can be reconnected. */
async function due(t: ExecutionContext) {
  const network = fakeNetwork();
  const steps = await postSteps(t, { a: network }, database().url);
  await steps.subscribe('channel.needs_reconnect');
  const channelId = steps.channels['a'] ?? '';
  const { post, id } = await steps.begin({ body: 'Hello' });
  const { orm, sealer } = steps.deps;
  return {
    network,
    steps,
    attemptOnce: () => steps.attempt(post, id),
    reconnect: (session: Json = null) =>
      connectChannel(orm.em.fork(), sealer, steps.workspaceId, 'a', {
        baseUrl: 'https://fake.example',
        remoteId: 'me',
        handle: '@me',
        credentials: { token: 'new' },
        session,
        settings: {},
      }),
    channel: () => orm.em.fork().findOneOrFail(Channel, channelId),
    told: () =>
      orm.em
        .fork()
        .execute<unknown[]>(
          'select 1 from events where channel_id is not null and workspace_id = ?',
          [steps.workspaceId],
        ),
    shown: async () => (await steps.show(post)).channels[0],
  };
}

test('lost access marks the channel and creates one event, however many posts meet it', async (t) => {
  const network = fakeNetwork();
  const {
    deps,
    workspaceId,
    channelId: id,
    newPost,
  } = await clockedChannel(t, network, database().url);
  const em = deps.orm.em.fork();
  await em.execute(
    `insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
     values (gen_random_uuid(), ?, 'https://example.com', '["channel.needs_reconnect"]', 'x', 'x', now())`,
    [workspaceId],
  );
  const [first, second] = [await newPost(['One']), await newPost(['Two'])];
  network.fates.push(fails('access_lost'), fails('access_lost'));

  const outcome = await first.attempt();
  t.like(outcome, { kind: 'done', status: 'failed' });
  t.deepEqual(await first.attempt(), outcome); // As if the first result was lost on its way to Temporal.
  const again = { kind: 'done', status: 'failed', code: 'access_lost' } as const;
  t.deepEqual(await second.attempt(), again);

  const error = 'They said access_lost. Connect the channel again.';
  t.like(await em.findOneOrFail(Channel, id), { state: 'needs_reconnect', error });
  const events = await em.execute<{ type: string; body: string }[]>(
    'select type, body from events where channel_id is not null and workspace_id = ?',
    [workspaceId],
  );
  t.is(events.length, 1);
  t.deepEqual(JSON.parse(events[0]?.body ?? '').data, {
    channel: { id, platform: 'fake', handle: '@me', error },
  });
});

test('a refusal of the old access after a reconnect changes nothing: the new access is used', async (t) => {
  const { network, steps, attemptOnce, reconnect, channel, told, shown } = await due(t);
  interrupt(network, 'send', reconnect);
  network.fates.push(fails('access_lost'));

  const tried = await attemptOnce();
  t.like(tried, { kind: 'again', code: 'network_unavailable' });
  t.like(await channel(), { state: 'connected', error: null });
  t.deepEqual(await told(), []);
  t.like(await shown(), { status: 'retrying' });
  t.regex((await shown())?.error ?? '', /was connected again.*next attempt is at/v);

  steps.pass(tried.kind === 'again' ? (tried.inMs ?? 0) : 0);
  const used: Json[] = [];
  const { send } = network;
  network.send = (...args) => {
    used.push(args[0].credentials);
    return send(...args);
  };
  t.like(await attemptOnce(), { kind: 'done', status: 'published' });
  t.deepEqual(used, [{ token: 'new' }]);
  t.deepEqual(liveTexts(network), ['Hello']);
});

test('a session of the old access does not replace the session of the new one', async (t) => {
  const { network, attemptOnce, reconnect, channel } = await due(t);
  const { send } = network;
  let sealed: string | null = null;
  network.send = async (...args) => {
    sealed = (await reconnect({ of: 'new' })).sealedSession;
    await args[0].saveSession({ of: 'old' });
    t.deepEqual(args[0].session, { of: 'old' }); // This attempt keeps using its own session.
    return send(...args);
  };
  await attemptOnce();

  t.truthy(sealed);
  t.is((await channel()).sealedSession, sealed);
});

const minute = 60_000;

test('a channel that loses access while its network processes a post sends one event, and the post waits for it', async (t) => {
  const network = processingNetwork();
  const { channel, post } = await processedPost(t, network, database().url);
  await post.attempt();
  network.says = new NetworkError('access_lost', 'The token was revoked.', { accepted: 'unknown' });
  const { deps, channelId } = channel;
  const rows = (statement: string) => deps.orm.em.fork().execute(statement, [channelId]);
  for (let polls = 0; polls < 3; polls += 1) {
    channel.pass(10 * minute);
    t.like(await post.attempt(), { kind: 'again', code: 'processing' });
    const { error, status } = await post.row();
    t.is(status, 'retrying');
    t.true(error?.includes(network.live[0]?.sent.url ?? '?'), error ?? '');
    t.regex(
      error ?? '',
      /The token was revoked\. Connect the channel again\. The next check is at/v,
    );
  }

  const [state] = await rows('select state, error from channels where id = ?');
  t.is(state?.state, 'needs_reconnect');
  t.is((await rows('select id from events where channel_id = ?')).length, 1);
  await rows(`update channels set state = 'connected' where id = ?`);
  network.says = { kind: 'ready' };
  channel.pass(15 * minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.like(await post.row(), { error: null, tries: 0 });
  t.is(network.sends.length, 1);
});

test('readiness checks continue while the network reports no result, and nothing is sent again', async (t) => {
  const network = processingNetwork();
  const { channel, post } = await processedPost(t, network, database().url);
  await post.attempt();
  for (const code of ['network_unavailable', 'rate_limited', 'access_lost', 'internal'] as const) {
    network.says = new NetworkError(code, 'No.', { accepted: 'unknown' });
    channel.pass(10 * minute);
    t.like(await post.attempt(), { kind: 'again', code: 'processing' }, code);
  }

  network.says = { kind: 'ready' };
  channel.pass(10 * minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.is(network.sends.length, 1);
});
