import test, { type ExecutionContext } from 'ava';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel, type ClaimedPost, type ClockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { down, fails, type Fate, liveTexts } from '../support/networks.ts';
import { hangingNetwork, newNetwork, postsOf, beginEach } from '../support/servers.ts';

const second = 1000;

const database = beforeTests(test, freshDatabase);
const newChannel = (t: ExecutionContext, network = newNetwork()) =>
  clockedChannel(t, network, database().url);

test('an attempt without a slot sends nothing, does not count, stores the reason and is repeated', async (t) => {
  const network = hangingNetwork();
  const channel = await newChannel(t, network);
  const [last, ...first] = await postsOf(channel, 16);
  const hanging = await beginEach(network, first);
  channel.pass(8 * second);

  const attempted = await last?.attempt();
  t.like(attempted, { kind: 'again', code: 'paced' });
  const inMs = (attempted?.kind === 'again' && attempted.inMs) || 0;
  t.true(inMs >= 4 * second && inMs <= 12 * second, `${inMs}`);
  const row = await last?.row();
  t.like(row, { status: 'retrying', errorCode: 'paced', tries: 0 });
  t.regex(
    row?.error ?? '',
    /^The limit of concurrent posts to https:\/\/fake\.example, or of this workspace to the network, is reached\. This does not count as an attempt\. The next attempt is at /v,
  );
  network.answer();
  await Promise.all(hanging);
  t.like(await last?.attempt(), { status: 'published' });
});

test('each attempt releases its slot, however it ends', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  const ends: Fate[] = [
    { kind: 'taken' },
    fails('content_refused'),
    fails('network_unavailable'),
    { kind: 'vanished' },
  ];
  for (let round = 0; round < 6; round += 1) {
    for (const end of ends) {
      network.fates.push(end);
      const attempted = await (await channel.newPost([crypto.randomUUID()])).attempt();
      t.not(attempted.kind === 'again' && attempted.code, 'paced');
    }
  }

  const cancelled = await channel.newPost(['Cancelled']);
  await channel.deps.orm.em
    .fork()
    .execute(`update posts set status = 'draft' where id = ?`, [cancelled.postId]);
  t.like(await cancelled.attempt(), { kind: 'done', status: 'draft' });
  const { servers } = channel.deps.limits;
  const nowMs = channel.deps.now().getTime();
  const again = { platform: network.id, baseUrl: 'https://fake.example', workspaceId: 'another' };
  t.true(Array.from({ length: 15 }, () => servers.enter(again, nowMs)).every(({ busy }) => !busy));
});

const minute = 60 * second;

/** A send that timed out or could not connect. */
const away = fails('network_unavailable', { server: 'unreachable' });

/** Attempts new posts while their server is unreachable. @returns the posts. */
async function findAway(
  channel: ClockedChannel,
  network: ReturnType<typeof newNetwork>,
  times: number,
): Promise<ClaimedPost[]> {
  const posts: ClaimedPost[] = [];
  for (const post of await postsOf(channel, times)) {
    network.fates.push(away);
    await post.attempt();
    posts.push(post);
  }

  return posts;
}

const waitOf = (attempted: Awaited<ReturnType<ClaimedPost['attempt']>>): number =>
  (attempted.kind === 'again' && attempted.inMs) || 0;

test('after five failed attempts in a row a server gets no requests; waiting does not count as an attempt, and the error says why', async (t) => {
  const network = newNetwork();
  const channel = await newChannel(t, network);
  await findAway(channel, network, 5);
  t.is(network.sends.length, 5);

  const post = await channel.newPost(['Waits']);
  const attempted = await post.attempt();
  t.like(attempted, { kind: 'again', code: 'network_unavailable' });
  t.true(waitOf(attempted) >= 10 * second && waitOf(attempted) <= 11 * second);
  t.is(network.sends.length, 5);
  const row = await post.row();
  t.like(row, { status: 'retrying', errorCode: 'network_unavailable', tries: 0 });
  t.regex(
    row.error ?? '',
    /^https:\/\/fake\.example did not answer the last 5 attempts, so only one post at a time is sent to test it\. This does not count as an attempt\. The next attempt is at /v,
  );
});

for (const [kind, live] of [
  ['lost', ['Doubted', 'Before it']],
  ['vanished', ['Before it', 'Doubted']],
] as const) {
  test(`an overdue post in doubt is looked for before its turn, and sent again in its turn: ${kind}`, async (t) => {
    const network = newNetwork();
    const channel = await newChannel(t, network);
    const doubted = await channel.newPost(['Doubted']);
    network.fates.push({ kind });
    network.blind = down;
    t.like(await doubted.attempt(), { kind: 'again' });
    network.blind = undefined;
    const before = await channel.newPost(['Before it']);
    await channel.deps.orm.em.execute(
      `update posts set scheduled_at = scheduled_at - interval '1 hour' where id = ?`,
      [before.postId],
    );
    channel.pass(1.9 * minute);

    t.like(
      await doubted.attempt(),
      kind === 'lost' ? { status: 'published' } : { code: 'paced', inMs: 2 * second },
    );
    t.like(await before.attempt(), { status: 'published' });
    channel.pass(2 * second);
    t.like(await doubted.attempt(), { status: 'published' });
    t.deepEqual(liveTexts(network), live);
  });
}
