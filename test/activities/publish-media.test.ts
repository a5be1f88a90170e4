import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { AppError } from '../../domain/errors.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { ledgerWorld } from '../support/ledger-world.ts';
import type { TestFile } from '../support/seed-media.ts';

const minute = 60_000;
const file = (name: string, content = `content of ${name}`): TestFile => ({
  name,
  type: 'image/png',
  bytes: Buffer.from(content),
  width: 10,
  height: 10,
});
const fails = (code: NetworkError['code'], taken: 'no' | 'unknown') =>
  new NetworkError(code, `They said ${code}.`, { taken });

/** A post with the files `a.png` and `b.png`. */
async function postWithFiles(t: ExecutionContext, network: FakeNetwork) {
  const world = await ledgerWorld(t, network);
  const post = await world.newPost(['Look', 'And on'], [file('b.png'), file('a.png')]);
  const states = async () => {
    const rows = await world.deps.orm.em
      .fork()
      .execute<{ state: string }[]>('select state from publish_attempts order by part');
    return rows.map(({ state }) => state);
  };
  return { world, post, states };
}

const both = ['b.png: content of b.png', 'a.png: content of a.png'];

test('the first post of a thread goes out with the files, in their order, the others without', async (t) => {
  const network = fakeNetwork();
  const { post } = await postWithFiles(t, network);

  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(network.sentFiles, [both, []]);
});

test('every send of a post carries its files, also the one after a lost one', async (t) => {
  const network = fakeNetwork();
  const { world, post } = await postWithFiles(t, network);
  network.fates.push(
    { kind: 'fails', error: fails('network_unavailable', 'no') },
    { kind: 'vanished' },
  );

  t.like(await post.attempt(), { kind: 'again' });
  world.pass(minute);
  t.like(await post.attempt(), { kind: 'again' });
  world.pass(2 * minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(network.sentFiles, [both, both, both, []]);
  t.is(network.live.length, 2);
});

test('files that the network does not take end the channel, and nothing was sent', async (t) => {
  const network = fakeNetwork();
  const { post, states } = await postWithFiles(t, network);
  network.takesNoFiles = fails('media_refused', 'no');

  t.like(await post.attempt(), { kind: 'done', status: 'failed' });
  const error =
    'They said media_refused. It is not tried again by itself: make a new post with another file.';
  t.like(await post.row(), { errorCode: 'media_refused', error });
  t.deepEqual(network.sends, []);
  t.deepEqual(await states(), []);
});

test('while files are on their way nothing counts as sent, and the next try begins anew', async (t) => {
  const network = fakeNetwork(minute);
  const { world, post, states } = await postWithFiles(t, network);
  network.takesNoFiles = fails('network_unavailable', 'no');
  // Nobody has to be asked about a post that was never sent.
  network.blind = fails('network_unavailable', 'unknown');

  t.like(await post.attempt(), { kind: 'again', code: 'network_unavailable' });
  t.deepEqual(await states(), []);
  network.takesNoFiles = undefined;
  world.pass(minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.is(network.live.length, 2);
});

test('the time in which a lost post may still appear counts from after its files were brought', async (t) => {
  const network = fakeNetwork(minute);
  const { world, post } = await postWithFiles(t, network);
  const upload = network.upload.bind(network);
  network.upload = async (...step) => {
    world.pass(3 * minute);
    return upload(...step);
  };
  network.fates.push({ kind: 'vanished' });

  t.like(await post.attempt(), { kind: 'again' });
  world.pass(minute / 2);
  t.like(await post.attempt(), { kind: 'again' }); // Half a minute is too soon to be sure.
  t.is(network.sends.length, 1);
});

test('an adapter that leaves a file behind does not get to send', async (t) => {
  const network = fakeNetwork();
  const { post } = await postWithFiles(t, network);
  network.upload = async () => ['only one'];

  t.like(await post.attempt(), { kind: 'done', status: 'failed' });
  const row = await post.row();
  t.is(row.errorCode, 'media_refused');
  t.regex(row.error ?? '', /^The post has 2 files, and 1 of them can go to fake\. /v);
  t.deepEqual(network.sends, []);
});

test('a file that was deleted since ends the channel, which names it', async (t) => {
  const network = fakeNetwork();
  const { world, post } = await postWithFiles(t, network);
  await world.deps.orm.em.execute(`update media_files set deleted_at = now() where name = 'a.png'`);

  t.like(await post.attempt(), { kind: 'done', status: 'failed' });
  const row = await post.row();
  t.is(row.errorCode, 'media_refused');
  t.regex(row.error ?? '', /^The file "a\.png" is no longer in the media library/v);
  t.deepEqual(network.sends, []);
});

test('a file whose bytes are gone ends the channel, which names it', async (t) => {
  const network = fakeNetwork();
  const { world, post } = await postWithFiles(t, network);
  const [row] = await world.deps.orm.em.execute<{ storage_key: string }[]>(
    `select storage_key from media_files where name = 'b.png'`,
  );
  await world.deps.storage.remove(row?.storage_key ?? '');

  t.like(await post.attempt(), { kind: 'done', status: 'failed' });
  t.regex((await post.row()).error ?? '', /^The file "b\.png" is no longer/v);
  t.deepEqual(network.sends, []);
});

test('a storage that does not answer is asked again later', async (t) => {
  const network = fakeNetwork();
  const { world, post } = await postWithFiles(t, network);
  const { storage } = world.deps;
  const open = storage.open.bind(storage);
  storage.open = () => Promise.reject(new AppError('unavailable', 'Away.'));

  t.like(await post.attempt(), { kind: 'again', code: 'internal' });
  t.regex((await post.row()).error ?? '', /"b\.png" could not be read/v);
  storage.open = open;
  world.pass(minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(network.sentFiles, [both, []]);
});

test('a post that is live is found although its file was deleted since', async (t) => {
  const network = fakeNetwork();
  const { world, post } = await postWithFiles(t, network);
  network.fates.push({ kind: 'lost' });
  network.blind = fails('network_unavailable', 'unknown');
  t.like(await post.attempt(), { kind: 'again' });
  await world.deps.orm.em.execute('update media_files set deleted_at = now()');
  network.blind = undefined;
  world.pass(minute);

  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.is(network.live.length, 2);
});
