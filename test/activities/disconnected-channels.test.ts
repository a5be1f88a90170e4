import test, { type ExecutionContext } from 'ava';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { SupersededError } from '../../db/ledger/intents.ts';
import { NetworkError } from '../../networks/network.ts';
import { down, fails, fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const minute = 60_000;
const hour = 60 * minute;
const { newSteps } = onOneDatabase(test);

/** A claimed post, with functions to attempt it and to disconnect its channel. */
async function claimed(
  t: ExecutionContext,
  {
    texts = ['Hello'],
    network = fakeNetwork(),
  }: { texts?: string[]; network?: ReturnType<typeof fakeNetwork> } = {},
) {
  const steps = await newSteps(t, { a: network });
  await steps.subscribe('post.published', 'post.failed', 'channel.needs_reconnect');
  const what = texts.length > 1 ? { thread: texts } : { body: texts[0] ?? '' };
  const { post, go, id } = await steps.begin(what);
  return {
    network,
    steps,
    post,
    id,
    attemptOnce: () => steps.attempt(post, id),
    disconnect: () => steps.disconnect('a'),
    shown: async () => (await steps.show(post)).channels[0],
    /** The finalize that the workflow runs when no attempt is left. */
    end: () => steps.finalize(post, go),
  };
}

for (const step of ['prepare', 'upload'] as const) {
  test(`an account that is disconnected while an attempt is at "${step}" receives nothing`, async (t) => {
    const { network, attemptOnce, disconnect, shown } = await claimed(t);
    interrupt(network, step, async () => t.is(await disconnect(), 0, 'no request is under way'));
    await t.throwsAsync(attemptOnce, { instanceOf: SupersededError });
    t.like(await attemptOnce(), { kind: 'done', status: 'failed', code: 'disconnected' });
    t.deepEqual(network.sends, []);
    t.like(await shown(), { status: 'failed', error_code: 'disconnected' });
  });
}

test('a request that is running when its account is disconnected is counted, and its post is published', async (t) => {
  const { network, steps, post, attemptOnce, disconnect, shown, end } = await claimed(t);
  interrupt(network, 'send', async () => t.is(await disconnect(), 1));
  t.like(await attemptOnce(), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['Hello']);
  t.like(await shown(), { status: 'published', error: null, url: network.live[0]?.sent.url });
  t.like(await end(), { status: 'published' });
  t.deepEqual(await steps.events(post), ['post.published']);
});

test('a running request that fails is not repeated on a disconnected account', async (t) => {
  const { network, attemptOnce, disconnect, shown } = await claimed(t);
  interrupt(network, 'send', disconnect);
  network.fates.push(fails('rate_limited'));
  t.like(await attemptOnce(), { kind: 'again', code: 'rate_limited' });
  t.like(await attemptOnce(), { kind: 'done', status: 'failed', code: 'disconnected' });
  t.is(
    (await shown())?.error,
    'The account was disconnected before it had the post. Connect the account again, then retry the post.',
  );
  t.is(network.sends.length, 1);
});

test('a running request whose response is lost leaves a disconnected channel unconfirmed, without further requests', async (t) => {
  const { network, attemptOnce, disconnect, shown } = await claimed(t);
  interrupt(network, 'send', disconnect);
  network.fates.push({ kind: 'lost' });
  network.blind = down;
  t.like(await attemptOnce(), { kind: 'again' });
  network.blind = new NetworkError('internal', 'Nobody may ask.', { accepted: 'no' });
  t.like(await attemptOnce(), { kind: 'done', status: 'unconfirmed' });
  t.like(await shown(), { status: 'unconfirmed', error_code: 'unconfirmed', retry_at: null });
});

test('after a disconnect, only the part that is being sent goes out', async (t) => {
  const { network, attemptOnce, disconnect, shown } = await claimed(t, {
    texts: ['One', 'Two', 'Three'],
  });
  interrupt(network, 'send', async () => t.is(await disconnect(), 1));
  await t.throwsAsync(attemptOnce, { instanceOf: SupersededError });
  t.deepEqual(liveTexts(network), ['One']);
  t.like(await attemptOnce(), { kind: 'done', status: 'failed', code: 'disconnected' });
  t.deepEqual(liveTexts(network), ['One']);
  const channel = await shown();
  t.true(channel?.error?.includes(network.live[0]?.sent.url ?? '?'), channel?.error ?? '');
});

test('a post that its network still processes when the account is disconnected is published, with a warning', async (t) => {
  const network = Object.assign(fakeNetwork(), {
    readiness: async () => ({ kind: 'processing', checkAfterMs: minute }) as const,
  });
  const { attemptOnce, disconnect, shown, end } = await claimed(t, { network });
  t.like(await attemptOnce(), { kind: 'again', code: 'processing' });
  await disconnect();
  network.readiness = () => Promise.reject(new Error('Nobody may ask.'));
  t.like(await attemptOnce(), { kind: 'done', status: 'published' });
  const channel = await shown();
  t.like(channel, { status: 'published', url: network.live[0]?.sent.url });
  t.regex(channel?.warning ?? '', /disconnected before .* finished processing/v);
  t.like(await end(), { status: 'published' });
});

test('a disconnected account that also lost its access gets no reconnect event', async (t) => {
  const { network, steps, attemptOnce, disconnect } = await claimed(t);
  interrupt(network, 'send', disconnect);
  network.fates.push(fails('access_lost'));
  t.like(await attemptOnce(), { kind: 'done', status: 'failed', code: 'access_lost' });
  const sql = `select type from events where workspace_id = ? and channel_id is not null`;
  t.deepEqual(await steps.deps.orm.em.fork().execute(sql, [steps.workspaceId]), [
    { type: 'channel.disconnected' },
  ]);
});

test('an account that is reconnected while its request is running continues as usual', async (t) => {
  const { network, steps, attemptOnce, disconnect, shown } = await claimed(t);
  interrupt(network, 'send', async () => {
    await disconnect();
    const { orm, sealer } = steps.deps;
    await connectChannel(orm.em.fork(), sealer, steps.workspaceId, 'a', {
      baseUrl: 'https://fake.example',
      remoteId: 'me',
      handle: '@me',
      credentials: { token: 'new' },
      session: null,
      settings: {},
    });
  });
  network.fates.push(fails('network_unavailable'));
  t.like(await attemptOnce(), { kind: 'again', code: 'network_unavailable' });
  steps.pass(hour);
  t.like(await attemptOnce(), { kind: 'done', status: 'published' });
  t.like(await shown(), { status: 'published', error: null });
  t.deepEqual(liveTexts(network), ['Hello']);
});
