import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { Channel } from '../../db/entities/channels.ts';
import { sessionPurpose } from '../../db/sealing-purposes.ts';
import { AppError } from '../../domain/errors.ts';
import { NetworkError } from '../../networks/network.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { type ClaimedPost, type ClockedChannel } from '../support/claimed-posts.ts';
import { down, fails, fakeNetwork, liveTexts, type FakeNetwork } from '../support/networks.ts';
import type { TestFile } from '../support/seed-media.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const minute = 60_000;
const hour = 60 * minute;
const { newChannel } = onOneDatabase(test);

const refusal = (code: NetworkError['code']) =>
  new NetworkError(code, `They said ${code}.`, { accepted: 'no' });

const file = (name: string): TestFile => ({
  name,
  type: 'image/png',
  bytes: Buffer.from(`content of ${name}`),
  width: 10,
  height: 10,
});

/** @param name A pattern for SQL's `like`. */
const deleteFile = ({ deps, workspaceId }: ClockedChannel, name: string): Promise<unknown> =>
  deps.orm.em
    .fork()
    .execute('update media_files set deleted_at = now() where workspace_id = ? and name like ?', [
      workspaceId,
      name,
    ]);

/** A thread of two parts, the first with the files `b.png` and `a.png`. */
async function postWithFiles(t: ExecutionContext, network: FakeNetwork) {
  const channel = await newChannel(t, network);
  const post = await channel.newPost(['Look', 'And on'], [file('b.png'), file('a.png')]);
  const states = async () => {
    const rows = await channel.deps.orm.em
      .fork()
      .execute<{ state: string }[]>(
        'select state from post_parts where channel_id = ? order by part',
        [channel.channelId],
      );
    return rows.map(({ state }) => state);
  };
  return { channel, post, states };
}

const both = ['b.png: content of b.png', 'a.png: content of a.png'];

test('each send of a post carries its files, also one after a lost send', async (t) => {
  const network = fakeNetwork();
  const { channel, post } = await postWithFiles(t, network);
  network.fates.push(fails('network_unavailable'), { kind: 'vanished' });

  t.like(await post.attempt(), { kind: 'again' });
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'again' });
  channel.pass(2 * minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(network.sentFiles, [both, both, both, []]);
  t.is(network.live.length, 2);
});

test('refused files fail the channel before anything is sent', async (t) => {
  const network = fakeNetwork();
  const { post, states } = await postWithFiles(t, network);
  network.takesNoFiles = refusal('media_refused');

  t.like(await post.attempt(), { kind: 'done', status: 'failed' });
  const error =
    'They said media_refused. It is not retried automatically: make a new post with another file (POST /posts/{id}/copy with {"only": "failed"} leaves out the other channels).';
  t.like(await post.row(), { errorCode: 'media_refused', error });
  t.deepEqual(network.sends, []);
  t.deepEqual(await states(), []);
});

test('an upload that fails is not a send, and the next attempt starts again', async (t) => {
  const network = fakeNetwork(minute);
  const { channel, post, states } = await postWithFiles(t, network);
  network.takesNoFiles = refusal('network_unavailable');
  // Reconcile would fail; a post that was never sent needs none.
  network.blind = down;

  t.like(await post.attempt(), { kind: 'again', code: 'network_unavailable' });
  t.deepEqual(await states(), []);
  network.takesNoFiles = undefined;
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.is(network.live.length, 2);
});

test('the time in which a lost post may still appear starts after the upload', async (t) => {
  const network = fakeNetwork(minute);
  const { channel, post } = await postWithFiles(t, network);
  const upload = network.upload.bind(network);
  network.upload = async (...step) => {
    channel.pass(3 * minute);
    return upload(...step);
  };
  network.fates.push({ kind: 'vanished' });

  t.like(await post.attempt(), { kind: 'again' });
  channel.pass(minute / 2);
  t.like(await post.attempt(), { kind: 'again' }); // After half a minute, the post may still appear.
  t.is(network.sends.length, 1);
});

test('a file that was deleted since fails the channel, and the error names it', async (t) => {
  const network = fakeNetwork();
  const { channel, post } = await postWithFiles(t, network);
  await deleteFile(channel, 'a.png');

  t.like(await post.attempt(), { kind: 'done', status: 'failed' });
  const row = await post.row();
  t.is(row.errorCode, 'media_refused');
  t.regex(row.error ?? '', /^The file "a\.png" is no longer in the media library/v);
  t.deepEqual(network.sends, []);
});

test('a file with missing bytes is an internal error, and the attempt is repeated', async (t) => {
  const network = fakeNetwork();
  const { channel, post } = await postWithFiles(t, network);
  const [row] = await channel.deps.orm.em.execute<{ storage_key: string }[]>(
    `select storage_key from media_files where name = 'b.png' and workspace_id = ?`,
    [channel.workspaceId],
  );
  await channel.deps.storage.remove(row?.storage_key ?? '');

  t.like(await post.attempt(), { kind: 'again' });
  t.like(await post.row(), { status: 'retrying', errorCode: 'internal' });
  t.regex((await post.row()).error ?? '', /^The file "b\.png" is missing in the media storage/v);
  t.deepEqual(network.sends, []);
});

test('an attempt is repeated when the storage does not respond', async (t) => {
  const network = fakeNetwork();
  const { channel, post } = await postWithFiles(t, network);
  const { storage } = channel.deps;
  const open = storage.open.bind(storage);
  storage.open = () => Promise.reject(new AppError('unavailable', 'Away.'));

  t.like(await post.attempt(), { kind: 'again', code: 'internal' });
  t.regex((await post.row()).error ?? '', /"b\.png" could not be read/v);
  storage.open = open;
  channel.pass(minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(network.sentFiles, [both, []]);
});

test('a live post is found although its file was deleted since', async (t) => {
  const network = fakeNetwork();
  const { channel, post } = await postWithFiles(t, network);
  network.fates.push({ kind: 'lost' });
  network.blind = down;
  t.like(await post.attempt(), { kind: 'again' });
  await deleteFile(channel, '%');
  network.blind = undefined;
  channel.pass(minute);

  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.is(network.live.length, 2);
});

/** Makes the next send throw a TypeError. @param after Whether the network receives the post before that. */
function meetBug(network: FakeNetwork, after: boolean): void {
  const { send } = network;
  network.send = async (...args) => {
    network.send = send;
    if (after) {
      await send(...args);
    }
    throw new TypeError("Cannot read 'secret-inside' of undefined");
  };
}

/** Attempts the post as Temporal does. @returns the waits between attempts in minutes, and the final status. */
async function untilDone(channel: ClockedChannel, post: ClaimedPost) {
  const waits: number[] = [];
  for (;;) {
    const outcome = await post.attempt();
    if (outcome.kind === 'done') {
      return { waits, status: outcome.status };
    }

    const { inMs } = outcome;
    waits.push((inMs ?? Number.NaN) / minute);
    channel.pass(inMs ?? Number.NaN);
  }
}

test('a worker with a wrong secret key logs it, sends nothing and keeps the session, and the right worker sends the post once', async (t) => {
  const network = fakeNetwork();
  const channel = await newChannel(t, network);
  const lines: string[] = [];
  const wrong = channel.newWorker({
    sealer: createSealer(randomBytes(32).toString('hex')),
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  });
  const em = channel.deps.orm.em.fork();
  const session = channel.deps.sealer.seal('{"token":"kept"}', sessionPurpose(channel.channelId));
  await em.execute('update channels set sealed_session = ? where id = ?', [
    session,
    channel.channelId,
  ]);
  const post = await channel.newPost(['Hello']);

  t.like(await post.attempt(wrong), { kind: 'again', code: 'internal', inMs: minute / 2 });
  const row = await post.row();
  t.like(row, { status: 'retrying', errorCode: 'internal', tries: 0 });
  t.is(
    row.error,
    "Something is wrong inside this service, not with the post or the network. The operator finds the reason in the worker's log, under this post's id. The next attempt is at 2026-05-01T12:00:30.000Z.",
  );
  t.is((await em.findOneOrFail(Channel, channel.channelId)).sealedSession, session);
  t.is(lines.length, 1);
  const [line = ''] = lines;
  t.true(line.includes(post.postId) && line.includes('another SECRET_KEY'));

  channel.pass(minute / 2);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.is(network.sends.length, 1);
});

test('internal errors are retried with growing delays for a day without counting as attempts, and then the post fails', async (t) => {
  const network = fakeNetwork();
  const channel = await newChannel(t, network);
  const post = await channel.newPost(['Hello']);
  network.prepare = () => Promise.reject(new TypeError('A bug.'));

  const { waits, status } = await untilDone(channel, post);
  t.is(status, 'failed');
  t.deepEqual(
    waits.slice(0, 8).map((wait) => Math.round(wait * 100) / 100),
    [0.5, 0.5, 0.5, 0.75, 1.13, 1.69, 2.53, 3.8],
  );
  t.is(waits.at(-1), 10);
  t.true(Math.abs(channel.deps.now().getTime() - Date.parse('2026-05-02T12:00:00Z')) < hour / 2);
  const row = await post.row();
  t.like(row, { errorCode: 'too_late', tries: 1 });
  t.regex(row.error ?? '', /^Something is wrong inside this service, .* Retry the post /v);
  t.false(row.error?.includes('bug'));
});

test('a bug during a send never sends the post twice, whether or not the network received it', async (t) => {
  for (const after of [true, false]) {
    const network = fakeNetwork();
    const channel = await newChannel(t, network);
    const post = await channel.newPost(['Hello']);
    meetBug(network, after);
    t.like(await post.attempt(), { kind: 'again', code: 'internal' });
    t.false((await post.row()).error?.includes('secret-inside'));

    channel.pass(minute / 2);
    t.like(await post.attempt(), { kind: 'done', status: 'published' });
    t.deepEqual(liveTexts(network), ['Hello']);
  }
});

test('a database failure is not stored as an error of the channel', async (t) => {
  const network = fakeNetwork();
  const channel = await newChannel(t, network);
  const post = await channel.newPost(['Hello']);
  const { prepare } = network;
  network.prepare = () =>
    Promise.reject(Object.assign(new Error('shutting down'), { code: '57P01' }));
  await t.throwsAsync(post.attempt(), { message: 'shutting down' });
  t.like(await post.row(), { status: 'scheduled', error: null });

  network.prepare = prepare;
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
});
