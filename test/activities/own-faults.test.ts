import { randomBytes } from 'node:crypto';
import test from 'ava';
import { pino } from 'pino';
import { Channel } from '../../db/entities/channel.ts';
import { sessionPurpose } from '../../db/sealing-purposes.ts';
import { createSealer } from '../../runtime/sealer.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { ledgerWorld, type LedgerPost, type LedgerWorld } from '../support/ledger-world.ts';

const minute = 60_000;
const hour = 60 * minute;

/** The next send meets a bug of the adapter. @param after Whether the network has the post by then. */
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

/** Tries as often as Temporal would. @returns the waits between the tries, in minutes, and the last outcome. */
async function untilDone(world: LedgerWorld, post: LedgerPost) {
  const waits: number[] = [];
  for (;;) {
    const outcome = await post.attempt();
    if (outcome.kind === 'done') {
      return { waits, status: outcome.status };
    }

    const { inMs } = outcome;
    waits.push((inMs ?? Number.NaN) / minute);
    world.pass(inMs ?? Number.NaN);
  }
}

test('a worker with another secret key says so and sends nothing, keeps the session, and the right one sends the post once', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const lines: string[] = [];
  const wrong = world.newWorker({
    sealer: createSealer(randomBytes(32).toString('hex')),
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  });
  const em = world.deps.orm.em.fork();
  const session = world.deps.sealer.seal('{"token":"kept"}', sessionPurpose(world.channelId));
  await em.execute('update channels set sealed_session = ?', [session]);
  const post = await world.newPost(['Hello']);

  t.like(await post.attempt(wrong), { kind: 'again', code: 'internal', inMs: minute / 2 });
  const row = await post.row();
  t.like(row, { status: 'retrying', errorCode: 'internal', tries: 0 });
  t.is(
    row.error,
    "Something is wrong inside this service, not with the post and not on the network. Whoever runs the service finds the reason in the worker's log, under this post's id. It is tried again by itself at 2026-05-01T12:00:30.000Z.",
  );
  t.is((await em.findOneOrFail(Channel, world.channelId)).sealedSession, session);
  t.is(lines.length, 1);
  const [line = ''] = lines;
  t.true(line.includes(post.postId) && line.includes('another SECRET_KEY'));

  world.pass(minute / 2);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.is(network.sends.length, 1);
});

test('a fault of ours is tried again ever more slowly for a day, is no try, and then the post is given up', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const post = await world.newPost(['Hello']);
  network.freeze = () => Promise.reject(new TypeError('A bug.'));

  const { waits, status } = await untilDone(world, post);
  t.is(status, 'failed');
  t.deepEqual(
    waits.slice(0, 8).map((wait) => Math.round(wait * 100) / 100),
    [0.5, 0.5, 0.5, 0.75, 1.13, 1.69, 2.53, 3.8],
  );
  t.is(waits.at(-1), 10);
  t.true(Math.abs(world.deps.now().getTime() - Date.parse('2026-05-02T12:00:00Z')) < hour / 2);
  const row = await post.row();
  t.like(row, { errorCode: 'too_late', tries: 1 });
  t.regex(row.error ?? '', /^Something is wrong inside this service, .* Retry the post /v);
  t.false(row.error?.includes('bug'));
});

test('a bug while the post is sent never sends it twice, whether the network had it by then or not', async (t) => {
  for (const after of [true, false]) {
    const network = fakeNetwork();
    const world = await ledgerWorld(t, network);
    const post = await world.newPost(['Hello']);
    meetBug(network, after);
    t.like(await post.attempt(), { kind: 'again', code: 'internal' });
    t.false((await post.row()).error?.includes('secret-inside'));

    world.pass(minute / 2);
    t.like(await post.attempt(), { kind: 'done', status: 'published' });
    t.deepEqual(
      network.live.map(({ text }) => text),
      ['Hello'],
    );
  }
});

test('a database that is away is no fault that the channel tells of', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const post = await world.newPost(['Hello']);
  const { freeze } = network;
  network.freeze = () =>
    Promise.reject(Object.assign(new Error('shutting down'), { code: '57P01' }));
  await t.throwsAsync(post.attempt(), { message: 'shutting down' });
  t.like(await post.row(), { status: 'publishing', error: null });

  network.freeze = freeze;
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
});
