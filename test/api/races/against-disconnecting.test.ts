import test from 'ava';
import { claimPost } from '../../../activities/claim-post.ts';
import { publishChannel } from '../../../activities/publish-channel/publish-channel.ts';
import { attempt } from '../../support/attempt.ts';
import { sharedApi } from '../../support/kit.ts';
import { fakeNetwork } from '../../support/networks.ts';
import { addFakeChannel, endedPost, fakeChannel } from '../../support/seed.ts';
import { CloseFinish, inRounds } from './race.ts';

// Each round disconnects an account and connects it again for the next one.

const api = sharedApi(test);

/** A workspace with an account that the rounds disconnect, and another account. */
async function accounts() {
  const client = await api.newClient();
  const { workspaceId } = client;
  const connect = (remoteId: string): Promise<string> =>
    addFakeChannel(api.punctual.deps, workspaceId, 'fake', { remoteId });
  const [own, other] = [crypto.randomUUID(), crypto.randomUUID()];
  const [gone, stays] = [await connect(own), await connect(other)];
  return {
    client,
    gone,
    stays,
    connectAgain: () => connect(own),
    disconnect: () => client.delete(`/channels/${gone}`),
  };
}

type Accounts = Awaited<ReturnType<typeof accounts>>;
type Shown = { readonly channel_id: string; readonly status: string };

/** The channels of the account that are still to be sent. */
const openOn = ({ client, gone }: Accounts): Promise<unknown[]> =>
  api.punctual.orm.em.fork().execute<unknown[]>(
    `select post_id, status from post_channels where workspace_id = ? and channel_id = ?
       and status in ('draft', 'scheduled', 'publishing', 'retrying')`,
    [client.workspaceId, gone],
  );

test('a post that is created during a disconnect is refused, or loses the channel', async (t) => {
  const finish = new CloseFinish();
  await inRounds(t, accounts, async (lane, round) => {
    const { client, gone, stays, connectAgain, disconnect } = lane;
    // Alternately in one statement, and in a transaction with a key.
    const headers = round % 2 === 0 ? {} : { 'idempotency-key': crypto.randomUUID() };
    const post = { body: 'x', channel_ids: [gone, stays], schedule_in_minutes: 60 };

    const [made, removed] = await finish.run(
      () => client.post('/posts', post, headers),
      disconnect,
    );

    t.is(removed.status, 200, JSON.stringify(removed.body));
    const isMade = made.status === 201;
    finish.finished(isMade ? 'first' : 'second');
    if (isMade) {
      t.is(removed.body.removed_from, 1);
      const { channels } = (await client.get(`/posts/${made.body.post.id}`)).body.post;
      t.deepEqual(
        channels.map((one: Shown) => one.channel_id),
        [stays],
      );
    } else {
      t.is(made.body.code, 'invalid_channel_ids', JSON.stringify(made.body));
      t.is(removed.body.removed_from, 0);
    }
    t.deepEqual(await openOn(lane), []);
    await connectAgain();
  });
  finish.mustHaveMet(t, 'the new post', 'the disconnection');
});

test('a post that adds the channel during a disconnect is refused, or loses the channel', async (t) => {
  const finish = new CloseFinish();
  await inRounds(t, accounts, async (lane) => {
    const { client, gone, stays, connectAgain, disconnect } = lane;
    const draft = (await client.post('/posts', { body: 'x', channel_ids: [stays] })).body.post.id;

    const [edited, removed] = await finish.run(
      () => client.patch(`/posts/${draft}`, { channel_ids: [gone], schedule_in_minutes: 60 }),
      disconnect,
    );

    t.is(removed.status, 200, JSON.stringify(removed.body));
    finish.finished(edited.status === 200 ? 'first' : 'second');
    t.true(
      edited.status === 200 || edited.body.code === 'invalid_channel_ids',
      JSON.stringify(edited.body),
    );
    t.deepEqual(await openOn(lane), []);
    const { status } = (await client.get(`/posts/${draft}`)).body.post;
    t.is(status, 'draft');
    t.is(removed.body.became_drafts.count, edited.status === 200 ? 1 : 0);
    await connectAgain();
  });
  finish.mustHaveMet(t, 'the edit', 'the disconnection');
});

test('a retry during a disconnect sends nothing', async (t) => {
  const finish = new CloseFinish();
  await inRounds(t, accounts, async (lane) => {
    const { client, gone, connectAgain, disconnect } = lane;
    const post = await endedPost(api.punctual, client, new Map([[gone, 'failed']]));

    const [retried, removed] = await finish.run(
      () => client.post(`/posts/${post}/retry`),
      disconnect,
    );

    t.is(removed.status, 200, JSON.stringify(removed.body));
    finish.finished(retried.status === 202 ? 'first' : 'second');
    t.true(
      retried.status === 202 || retried.body.code === 'nothing_to_retry',
      JSON.stringify(retried.body),
    );
    t.deepEqual(await openOn(lane), []);
    await connectAgain();
  });
  finish.mustHaveMet(t, 'the retry', 'the disconnection');
});

test('after a disconnect only the sends that it reported are published', async (t) => {
  const network = fakeNetwork();
  const finish = new CloseFinish();
  const prepare = async () => {
    const client = await api.newClient();
    return { client, connect: () => fakeChannel(api.punctual, client.workspaceId, network) };
  };
  const told = new Set<number>();
  await inRounds(t, prepare, async ({ client, connect }) => {
    const { workspaceId } = client;
    const channel = await connect();
    const request = { body: 'x', channel_ids: [channel], schedule_in_minutes: 0 };
    const postId: string = (await client.post('/posts', request)).body.post.id;
    const { deps } = api.punctual;
    const isOut = (): boolean => network.live.some(({ key }) => key.startsWith(id));
    const rows = await deps.orm.em
      .fork()
      .execute<{ id: string }[]>('select id from post_channels where post_id = ?', [postId]);
    const id = rows[0]?.id ?? '';
    let wasOut = false;

    const [removed, outcome] = await finish.run(
      async () => {
        const reply = await client.delete(`/channels/${channel}`);
        wasOut = isOut();
        return reply;
      },
      async () => {
        await claimPost(deps, { workspaceId, postId, nowMs: Date.now() });
        const attemptOnce = () =>
          attempt(publishChannel, deps, { workspaceId, postId, postChannelId: id });
        // Temporal repeats an attempt that lost its race.
        return attemptOnce().catch(() => attemptOnce());
      },
    );

    t.is(removed.status, 200, JSON.stringify(removed.body));
    const sending: number = removed.body.still_sending;
    told.add(sending);
    t.true(!isOut() || wasOut || sending === 1, 'later sends were reported');
    const { channels } = (await client.get(`/posts/${postId}`)).body.post;
    const expected = isOut() ? 'published' : undefined;
    t.is(
      channels[0]?.status === 'published' ? 'published' : undefined,
      expected,
      JSON.stringify([channels, outcome]),
    );
    finish.finished(isOut() ? 'second' : 'first');
  });
  t.log(`still_sending was ${[...told].toSorted().join(', ')}`);
  finish.mustHaveMet(t, 'the disconnection', 'publishing');
});

test('two concurrent disconnects of an account emit one event', async (t) => {
  await inRounds(t, accounts, async ({ client, connectAgain, disconnect }) => {
    const replies = await Promise.all([disconnect(), disconnect()]);
    t.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 404]);
    const sql = `select count(*)::int as events from events where workspace_id = ? and type = 'channel.disconnected'`;
    const em = api.punctual.orm.em.fork();
    const [before] = await em.execute<{ events: number }[]>(sql, [client.workspaceId]);
    await connectAgain();
    await disconnect();
    const [after] = await em.execute<{ events: number }[]>(sql, [client.workspaceId]);
    t.is(after?.events, (before?.events ?? 0) + 1);
    await connectAgain();
  });
});
