import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { fakeNetwork } from '../support/networks.ts';
import { postLife, type Go } from '../support/post-life.ts';

/** A post that was given up while a worker that nobody heard of any more was still sending it. */
async function silentWorker(t: ExecutionContext, networks = { a: fakeNetwork() }) {
  const life = await postLife(t, networks);
  await life.deps.orm.em.fork().execute(
    `insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
     values (gen_random_uuid(), ?, 'https://example.com', '["post.published", "post.partial"]', 'x', 'x', now())`,
    [life.workspaceId],
  );
  const channelIds = Object.values(life.channels);
  const post = await life.create({ body: 'x', channel_ids: channelIds, schedule_in_minutes: 0 });
  const go = (await life.claim(post)) as Go;
  const goOn = Promise.withResolvers<void>();
  const sending = Promise.withResolvers<void>();
  const { send } = networks.a;
  networks.a.send = async (...args) => {
    sending.resolve();
    await goOn.promise;
    return send(...args);
  };
  const id = go.targets.find(({ network }) => network === 'a')?.postChannelId ?? '';
  const silent = life.attempt(post, id);
  await sending.promise;
  const comeBack = async () => {
    goOn.resolve();
    return silent;
  };
  return { life, post, go, comeBack };
}

test('a channel that turns out to be published after its post had ended is shown so, and told by a new event', async (t) => {
  const { life, post, go, comeBack } = await silentWorker(t);
  t.is((await life.finalize(post, go)).status, 'failed');
  t.like((await life.show(post)).channels[0], { status: 'unconfirmed' });

  t.like(await comeBack(), { status: 'published' });
  const seen = await life.show(post);
  t.like(seen, { status: 'published', summary: { published: 1, failed: 0, pending: 0 } });
  t.like(seen.channels[0], { status: 'published', error: null, error_code: null });
  t.deepEqual(await life.events(post), ['post.failed', 'post.published']);
  const deliveries = await life.deps.orm.em
    .fork()
    .execute<{ synced_round: number }[]>('select synced_round from deliveries');
  t.deepEqual(deliveries, [{ synced_round: 0 }]); // In the outbox: no workflow is there to start it.
});

test('a post that failed elsewhere stays failed, and a new event says what it has now', async (t) => {
  const networks = { a: fakeNetwork(), b: fakeNetwork() };
  const error = new NetworkError('content_refused', 'No.', { taken: 'no' });
  networks.b.fates.push({ kind: 'fails', error });
  const { life, post, go, comeBack } = await silentWorker(t, networks);
  const other = go.targets.find(({ network }) => network === 'b')?.postChannelId ?? '';
  await life.attempt(post, other);
  await life.finalize(post, go);

  await comeBack();
  t.is((await life.show(post)).status, 'failed');
  t.deepEqual(await life.events(post), ['post.failed', 'post.partial']);
});

test('a try that ends in time makes no event of its own, and a repeated one none either', async (t) => {
  const { life, post, go, comeBack } = await silentWorker(t);
  await comeBack();
  await life.finalize(post, go);
  await life.attempt(post, go.targets[0]?.postChannelId ?? '');
  t.deepEqual(await life.events(post), ['post.published']);
  const [row] = await life.deps.orm.em
    .fork()
    .execute<{ run: number }[]>('select run from posts where id = ?', [post]);
  t.is(row?.run, 1);
});
