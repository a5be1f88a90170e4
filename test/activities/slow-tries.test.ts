import { CancelledFailure } from '@temporalio/common';
import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { postLife, type Go, type PostLife } from '../support/post-life.ts';
import { storeFile, attachFiles } from '../support/seed-media.ts';
import { deleteMedia } from '../../api/media/delete-media.ts';
import type { ApiDeps } from '../../api/deps.ts';

const minute = 60_000;

test('a try that hung until its post was given up, or cancelled, sends nothing when it goes on', async (t) => {
  const network = fakeNetwork();
  const life = await postLife(t, { a: network });
  const channelIds = Object.values(life.channels);
  const post = await life.create({ body: 'Old', channel_ids: channelIds, schedule_in_minutes: 0 });
  const go = (await life.claim(post)) as Go;
  const id = go.targets[0]?.postChannelId ?? '';
  const hang = Promise.withResolvers<void>();
  const hung = Promise.withResolvers<void>();
  const { freeze } = network;
  network.freeze = async (...args) => {
    hung.resolve();
    await hang.promise;
    return freeze(...args);
  };
  const first = life.attempt(post, id);
  await hung.promise;
  t.is(await life.cancel(post), 1);
  t.is((await life.finalize(post, go, { canceled: true, heard: 2 })).status, 'draft');

  hang.resolve();
  await t.throwsAsync(first);
  t.deepEqual(network.live, []);
});

test('of two tries of two publishings that meet only one sends', async (t) => {
  const network = fakeNetwork();
  const life = await postLife(t, { a: network });
  const channelIds = Object.values(life.channels);
  const post = await life.create({ body: 'Old', channel_ids: channelIds, schedule_in_minutes: 0 });
  const go = (await life.claim(post)) as Go;
  const id = go.targets[0]?.postChannelId ?? '';
  const hang = Promise.withResolvers<void>();
  const hung = Promise.withResolvers<void>();
  const { upload } = network;
  network.upload = async (...args) => {
    network.upload = upload;
    hung.resolve();
    await hang.promise;
    return upload(...args);
  };
  const first = life.attempt(post, id);
  await hung.promise;
  await life.cancel(post);
  await life.finalize(post, go, { canceled: true, heard: 2 });
  await life.edit(post, { body: 'New', schedule_in_minutes: 0 });
  await life.claim(post);
  const { send } = network;
  network.send = async (...args) => {
    network.send = send;
    hang.resolve();
    await t.throwsAsync(first);
    return send(...args);
  };
  t.like(await life.attempt(post, id), { status: 'published' });
  t.deepEqual(
    network.live.map(({ text }) => text),
    ['New'],
  );
});

test('a try that hung after it had found nothing does not undo what another one has sent since', async (t) => {
  const network = fakeNetwork(minute);
  const { life, post, id } = await dying(t, network);
  life.pass(2 * minute);
  const { reconcile } = network;
  network.reconcile = async (...args) => {
    network.reconcile = reconcile;
    const found = await reconcile(...args);
    // The worker hangs: meanwhile another one finds nothing either, sends, and gets no answer.
    const { send } = network;
    network.send = (...given) => {
      network.send = send;
      network.blind = new NetworkError('network_unavailable', 'Down.', { taken: 'unknown' });
      return send(...given);
    };
    network.fates.push({ kind: 'lost' });
    t.like(await life.attempt(post, id), { kind: 'again' });
    return found;
  };
  await life.attempt(post, id).catch(() => undefined);
  network.blind = undefined;
  life.pass(minute);
  await life.attempt(post, id);

  t.is(network.live.length, 1);
  t.is((await life.show(post)).channels[0]?.status, 'published');
});

test('nothing is certain from a look that began too early, however late its answer comes', async (t) => {
  const network = fakeNetwork(minute);
  const { life, post, id } = await dying(t, network);
  life.pass(minute - 1);
  const { reconcile } = network;
  network.reconcile = async (...args) => {
    network.reconcile = reconcile;
    const found = await reconcile(...args);
    life.pass(1000);
    return found;
  };

  t.like(await life.attempt(post, id), { kind: 'again' });
  t.is(network.sends.length, 0);
});

/** A post of which the worker died while it sent it; nobody knows how far it came. */
async function dying(t: ExecutionContext, network: FakeNetwork) {
  const life = await postLife(t, { a: network });
  const channelIds = Object.values(life.channels);
  const post = await life.create({ body: 'x', channel_ids: channelIds, schedule_in_minutes: 0 });
  const id = ((await life.claim(post)) as Go).targets[0]?.postChannelId ?? '';
  const { send } = network;
  network.send = async () => {
    network.send = send;
    throw new CancelledFailure('The worker is gone.'); // Nothing is written any more.
  };
  await t.throwsAsync(life.attempt(post, id));
  return { life, post, id };
}

test('a lost access is told even when the worker died before the channel had ended', async (t) => {
  const network = fakeNetwork();
  const life = await postLife(t, { a: network });
  const em = life.deps.orm.em.fork();
  await em.execute(
    `insert into webhook_endpoints (id, workspace_id, url, events, sealed_secret, secret_hint, created_at)
     values (gen_random_uuid(), ?, 'https://example.com', '["channel.needs_reconnect"]', 'x', 'x', now())`,
    [life.workspaceId],
  );
  const channelIds = Object.values(life.channels);
  const post = await life.create({ body: 'Old', channel_ids: channelIds, schedule_in_minutes: 0 });
  const go = (await life.claim(post)) as Go;
  const id = go.targets[0]?.postChannelId ?? '';
  const lost = new NetworkError('access_lost', 'Revoked.', { taken: 'no' });
  network.fates.push({ kind: 'fails', error: lost }, { kind: 'fails', error: lost });
  // The database is away for one of the two writes.
  await em.execute(`create function refuse() returns trigger language plpgsql as $$ begin
    raise exception 'away'; end $$`);
  await em.execute(
    `create trigger away before update on post_channels for each row when (new.status = 'failed') execute function refuse()`,
  );
  await t.throwsAsync(life.attempt(post, id));
  await em.execute('drop trigger away on post_channels');

  const outcome = await life.attempt(post, id);
  t.is(outcome.kind === 'done' && outcome.deliveryIds.length, 1);
});

test('a file that is deleted while a retry begins is kept, or the retry is refused', async (t) => {
  const network = fakeNetwork();
  const life = await postLife(t, { a: network });
  const channelIds = Object.values(life.channels);
  const post = await life.create({ body: 'x', channel_ids: channelIds, schedule_in_minutes: 0 });
  const image = { name: 'a.png', type: 'image/png', bytes: Buffer.from('x'), width: 1, height: 1 };
  const file = await storeFile(life.deps, life.workspaceId, image);
  await attachFiles(life.deps, life.workspaceId, post, [file]);
  const go = (await life.claim(post)) as Go;
  const refused = new NetworkError('content_refused', 'No.', { taken: 'no' });
  network.fates.push({ kind: 'fails', error: refused });
  await life.attempt(post, go.targets[0]?.postChannelId ?? '');
  await life.finalize(post, go);

  // The retry has looked at the files and is about to commit, when the file is deleted.
  const held = life.deps.orm.em.fork();
  await held.begin();
  await held.execute('select 1 from post_channels where post_id = ? for update', [post]);
  const retried = life.retry(post);
  await waiting(life, 1);
  const media = { storage: life.deps.storage, staging: { note: nothing, forget: nothing } };
  const api = { ...life.deps, media } as unknown as ApiDeps;
  const deleted = deleteMedia(api, life.workspaceId, file);
  await waiting(life, 2);
  await held.commit();

  await retried;
  const error = await t.throwsAsync(deleted);
  t.like(error, { code: 'media_in_use' });
});

/** Resolves when so many connections to the test's database wait for a lock. */
const waiting = ({ deps }: PostLife, count: number) =>
  poll(
    async () => {
      const [row] = await deps.orm.em.fork().execute<{ count: number }[]>(
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return row?.count ?? 0;
    },
    (seen) => seen >= count,
  );

const nothing = async (): Promise<void> => {};
