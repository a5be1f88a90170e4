import test, { type ExecutionContext } from 'ava';
import { connectChannel } from '../../accounts/connect-channel.ts';
import { Channel } from '../../db/entities/channel.ts';
import type { Json } from '../../domain/json-schema.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { postSteps } from '../support/post-steps.ts';

const database = beforeTests(test, freshDatabase);

/** A post that is due, on an account that can be connected anew. */
async function due(t: ExecutionContext) {
  const network = fakeNetwork();
  const steps = await postSteps(t, { a: network }, database().url);
  await steps.subscribe('channel.needs_reconnect');
  const channelId = steps.channels['a'] ?? '';
  const post = await steps.create({
    body: 'Hello',
    channel_ids: [channelId],
    schedule_in_minutes: 0,
  });
  const [target] = (await steps.claimOrThrow(post)).targets;
  const { orm, sealer } = steps.deps;
  return {
    network,
    steps,
    tryOnce: () => steps.attempt(post, target?.postChannelId ?? ''),
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
        .execute<unknown[]>('select 1 from events where workspace_id = ?', [steps.workspaceId]),
    shown: async () => (await steps.show(post)).channels[0],
  };
}

test('a refusal of the old access, after the account was connected again, loses nothing: the new one is tried', async (t) => {
  const { network, steps, tryOnce, reconnect, channel, told, shown } = await due(t);
  interrupt(network, 'send', reconnect);
  network.fates.push(fails('access_lost'));

  const tried = await tryOnce();
  t.like(tried, { kind: 'again', code: 'network_unavailable' });
  t.like(await channel(), { state: 'connected', error: null });
  t.deepEqual(await told(), []);
  t.like(await shown(), { status: 'retrying' });
  t.regex((await shown())?.error ?? '', /was connected again.*tried again by itself/v);

  steps.pass(tried.kind === 'again' ? (tried.inMs ?? 0) : 0);
  const used: Json[] = [];
  const { send } = network;
  network.send = (...args) => {
    used.push(args[0].credentials);
    return send(...args);
  };
  t.like(await tryOnce(), { kind: 'done', status: 'published' });
  t.deepEqual(used, [{ token: 'new' }]);
  t.deepEqual(liveTexts(network), ['Hello']);
});

test('an account that is connected again and refused again is lost, and its owner hears of it once', async (t) => {
  const { network, tryOnce, reconnect, channel, told } = await due(t);
  interrupt(network, 'send', reconnect);
  network.fates.push(fails('access_lost'), fails('access_lost'));
  await tryOnce();

  t.like(await tryOnce(), { kind: 'done', status: 'failed', code: 'access_lost' });
  t.is((await channel()).state, 'needs_reconnect');
  t.is((await told()).length, 1);
});

test('a session of the old access does not take the place of that of the new one', async (t) => {
  const { network, tryOnce, reconnect, channel } = await due(t);
  const { send } = network;
  let sealed: string | null = null;
  network.send = async (...args) => {
    sealed = (await reconnect({ of: 'new' })).sealedSession;
    await args[0].saveSession({ of: 'old' });
    t.deepEqual(args[0].session, { of: 'old' }); // For the rest of this try.
    return send(...args);
  };
  await tryOnce();

  t.truthy(sealed);
  t.is((await channel()).sealedSession, sealed);
});
