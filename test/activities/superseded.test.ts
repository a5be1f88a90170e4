import test from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { postLife, type Go, type PostLife } from '../support/post-life.ts';

const minute = 60_000;
const fails = (code: NetworkError['code'], taken: 'no' | 'unknown' = 'no') =>
  ({ kind: 'fails', error: new NetworkError(code, `They said ${code}.`, { taken }) }) as const;

test('a post that was cancelled, ended in spite of it, and is retried, is sent again', async (t) => {
  const { life, network, post, go } = await claimed(t);
  network.fates.push(fails('content_refused'));
  during(network, async () => void (await life.cancel(post)));
  await attemptAll(life, post, go);
  t.is((await life.finalize(post, go, { canceled: true, heard: 2 })).status, 'failed');

  await life.retry(post);
  t.is((await life.claim(post)).kind, 'go');
});

test('an end that is written again, because its answer was lost, leaves a retry alone', async (t) => {
  const { life, network, post, go } = await claimed(t);
  await addEndpoint(life);
  network.fates.push(fails('content_refused'));
  await attemptAll(life, post, go);
  const first = await life.finalize(post, go);
  t.is(first.deliveryIds.length, 1);

  await life.retry(post);
  for (const heard of [1, 2]) {
    t.deepEqual(await life.finalize(post, go, { heard }), {
      status: 'gone',
      deliveryIds: first.deliveryIds, // They may have been lost with the answer.
    });
  }

  t.is((await life.show(post)).status, 'publishing');
  const again = await life.claim(post);
  t.true(again.kind === 'go' && again.targets.length === 1);
  await attemptAll(life, post, again as Go);
  await life.finalize(post, again as Go);
  t.deepEqual(await life.events(post), ['post.failed', 'post.published']);
});

test('a cancelled post of which a try fails is a draft, and no event says that it failed, whether or not its workflow heard', async (t) => {
  for (const heard of [true, false]) {
    const { life, network, post, go } = await claimed(t);
    network.fates.push(fails('network_unavailable'));
    during(network, async () => void (await life.cancel(post)));
    await attemptAll(life, post, go);
    // Whoever looks in between sees neither a failure nor a promise to try again.
    t.like((await life.show(post)).channels[0], { status: 'draft', error: null, retry_at: null });

    t.is(
      (await life.finalize(post, go, heard ? { canceled: true, heard: 2 } : {})).status,
      'draft',
    );
    t.like((await life.show(post)).channels[0], { status: 'draft', error: null });
    t.deepEqual(await life.events(post), []);
  }
});

test('a try that fails after its post was cancelled and scheduled anew waits for the new time', async (t) => {
  const { life, network, post, go } = await claimed(t, ['a', 'b']);
  network.fates.push(fails('network_unavailable'));
  during(network, async () => {
    await life.cancel(post);
    await life.edit(post, { body: 'Better', schedule_in_minutes: 60 });
  });
  await attemptAll(life, post, go);
  t.is((await life.finalize(post, go, { heard: 3 })).status, 'gone');

  const { status, channels } = await life.show(post);
  t.is(status, 'scheduled');
  for (const channel of channels) {
    t.like(channel, { status: 'scheduled', error: null, retry_at: null });
  }

  life.pass(60 * minute);
  const again = (await life.claim(post)) as Go;
  await attemptAll(life, post, again);
  t.is((await life.finalize(post, again)).status, 'published');
  t.deepEqual(
    network.live.map(({ text }) => text),
    ['Better', 'Better'],
  );
});

test('a worker that dies with a post that was cancelled and scheduled anew sends nothing before the new time', async (t) => {
  const { life, network, post, go } = await claimed(t, ['a', 'b']);
  await life.deps.orm.em.execute(`update post_channels set status = 'publishing' where id = ?`, [
    go.targets[0]?.postChannelId,
  ]);
  await life.cancel(post);
  await life.edit(post, { body: 'Better', schedule_in_minutes: 60 });
  await attemptAll(life, post, go);
  t.deepEqual(network.live, []);
  await life.finalize(post, go, { heard: 3 });
  const { channels } = await life.show(post);
  t.deepEqual(
    channels.map(({ status }) => status),
    ['scheduled', 'scheduled'],
  );
});

test('a channel says what went out, not what the post became while nobody knew', async (t) => {
  const { life, network, post, go } = await claimed(t);
  network.fates.push({ kind: 'lost' });
  network.blind = new NetworkError('network_unavailable', 'Down.', { taken: 'unknown' });
  await attemptAll(life, post, go);
  network.blind = undefined;
  // Not by a call of the API, which would not do it: only the ledger knows what was sent.
  await life.deps.orm.em.execute(`update posts set body = 'Better' where id = ?`, [post]);
  await attemptAll(life, post, go);
  t.like((await life.show(post)).channels[0], { status: 'published', body: 'Hello' });
});

/** A post on a channel of each network, all of which share their fates, that was due and is claimed. */
async function claimed(t: Parameters<typeof postLife>[0], names: readonly string[] = ['a']) {
  const network = fakeNetwork();
  const networks = Object.fromEntries(names.map((name) => [name, network]));
  const life = await postLife(t, networks);
  const channelIds = Object.values(life.channels);
  const request = { body: 'Hello', channel_ids: channelIds, schedule_in_minutes: 0 };
  const post = await life.create(request);
  return { life, network, post, go: (await life.claim(post)) as Go };
}

async function attemptAll(life: PostLife, post: string, go: Go): Promise<void> {
  for (const { postChannelId } of go.targets) {
    await life.attempt(post, postChannelId);
  }
}

/** Does something while the next send is under way. */
function during(network: FakeNetwork, act: () => Promise<void>): void {
  const { send } = network;
  network.send = async (...args) => {
    network.send = send;
    await act();
    return send(...args);
  };
}

const addEndpoint = ({ deps, workspaceId }: PostLife) =>
  deps.orm.em.fork().execute(
    `insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
     values (gen_random_uuid(), ?, 'https://example.com', '["post.failed", "post.published"]', 'x', 'x', now())`,
    [workspaceId],
  );
