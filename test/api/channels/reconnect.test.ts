import test from 'ava';
import type { PostView } from '../../../domain/post-view.ts';
import { connectChannel } from '../../../services/channels/connect-channel.ts';
import { sharedApi } from '../../support/kit.ts';
import { endedPost, storeChannel } from '../../support/seed.ts';
import { channelsOf, twoChannels } from './two-channels.ts';

const api = sharedApi(test);

type Ends = Parameters<typeof endedPost>[2];

/** A workspace with a channel that lost its access, and another channel. */
async function workspace() {
  const client = await api.newClient();
  const { workspaceId } = client;
  const [lost, other] = [
    await storeChannel(api.punctual, workspaceId, { handle: '@lost@social.test' }),
    await storeChannel(api.punctual, workspaceId),
  ];
  const run = (sql: string, values: readonly unknown[]) =>
    api.punctual.orm.em.fork().execute(sql, [...values]);
  await run(`update channels set state = 'needs_reconnect', error = 'Revoked.' where id = ?`, [
    lost,
  ]);
  /** An ended post whose failed channels have lost their access. */
  const ended = async (ends: Ends, code = 'access_lost', hoursAgo = 1): Promise<string> => {
    const post = await endedPost(api.punctual, client, ends);
    await run(
      `update post_channels set error_code = ?, tried_at = now() - make_interval(hours => ?)
       where post_id = ? and status = 'failed'`,
      [code, hoursAgo, post],
    );
    return post;
  };
  return {
    client,
    lost,
    other,
    run,
    ended,
    failed: (code?: string, hoursAgo?: number) =>
      ended(new Map([[lost, 'failed']]), code, hoursAgo),
    show: async (id: string): Promise<PostView> => (await client.get(`/posts/${id}`)).body.post,
    reconnect: (body: object = {}) => client.post(`/channels/${lost}/reconnect`, body),
    connectAgain: () =>
      run(`update channels set state = 'connected', error = null where id = ?`, [lost]),
  };
}

const retrying = { retry_posts: true };

test('posts of the last day that failed only because of the lost access are listed by due time', async (t) => {
  const { lost, other, ended, failed, run, reconnect } = await workspace();
  const [late, early] = [await failed(), await failed()];
  await run(`update posts set scheduled_at = now() - interval '2 hours' where id = ?`, [early]);
  const both = await ended(
    new Map([
      [lost, 'failed'],
      [other, 'published'],
    ] as const),
  );
  await run(`update posts set scheduled_at = now() + interval '2 hours' where id = ?`, [both]);
  await failed('network_unavailable');
  const [old, retried] = [await failed('access_lost', 25), await failed('access_lost', 25)];
  await run(`update posts set scheduled_at = now() - interval '25 hours' where id in (?)`, [
    [old, retried],
  ]);
  await run(`update posts set retried_at = now() - interval '1 hour' where id = ?`, [retried]);
  await ended(
    new Map([
      [other, 'failed'],
      [lost, 'published'],
    ] as const),
  );
  await ended(new Map([[lost, 'unconfirmed']]));
  const publishing = await failed();
  await run(`update posts set status = 'publishing' where id = ?`, [publishing]);

  const { status, body } = await reconnect();

  t.is(status, 200);
  t.like(body.channel, { id: lost, state: 'needs_reconnect', error: 'Revoked.' });
  t.deepEqual(body.failed_posts, { count: 5, post_ids: [early, retried, late, both, publishing] });
  t.deepEqual(body.retrying, []);
});

test('posts are not retried before the account is connected', async (t) => {
  const { failed, show, reconnect, connectAgain } = await workspace();
  const post = await failed();
  const before = await show(post);

  const { status, body } = await reconnect(retrying);

  t.is(status, 409);
  t.is(body.code, 'channel_not_connected');
  t.regex(body.error, /@lost@social\.test on Mastodon is not connected: connect it again/v);
  t.deepEqual(await show(post), before);
  await connectAgain();
  t.deepEqual((await reconnect(retrying)).body.retrying, [post]);
});

test('a post is retried only on the reconnected channel', async (t) => {
  const { client, lost, other, ended, run, show, reconnect, connectAgain } = await workspace();
  const [published, unconfirmed] = [
    await storeChannel(api.punctual, client.workspaceId),
    await storeChannel(api.punctual, client.workspaceId),
  ];
  const post = await ended(
    new Map([
      [lost, 'failed'],
      [other, 'failed'],
      [published, 'published'],
      [unconfirmed, 'unconfirmed'],
    ] as const),
  );
  await run(`update post_channels set error_code = 'access_lost' where channel_id = ?`, [other]);
  const before = (await show(post)).channels;
  await connectAgain();

  t.deepEqual((await reconnect(retrying)).body.retrying, [post]);

  const after = await show(post);
  t.is(after.status, 'publishing');
  t.like(after.channels[0], { channel_id: lost, status: 'publishing', error_code: null });
  t.deepEqual(after.channels.slice(1), before.slice(1));
});

test('two concurrent calls retry each post once', async (t) => {
  const { failed, run, reconnect, connectAgain } = await workspace();
  const posts = [await failed(), await failed(), await failed(), await failed()];
  await connectAgain();

  const replies = await Promise.all([reconnect(retrying), reconnect(retrying)]);

  t.deepEqual(
    replies.map(({ status }) => status),
    [200, 200],
  );
  const sent: string[] = replies.flatMap(({ body }) => body.retrying);
  t.deepEqual(sent.toSorted(), posts.toSorted());
  t.deepEqual(await run('select distinct run from posts where id in (?)', [posts]), [{ run: 2 }]);
  t.like((await reconnect(retrying)).body, { failed_posts: { count: 0 }, retrying: [] });
});

test('retries are spaced, and a post without its files is skipped', async (t) => {
  const { failed, run, reconnect, connectAgain, client } = await workspace();
  const [first, without, second] = [await failed(), await failed(), await failed()];
  await run(
    `with file as (
       insert into media_files (id, workspace_id, name, type, size_bytes, storage_key, link_token, created_at, deleted_at)
       values (gen_random_uuid(), ?, 'cat.png', 'image/png', 1, 'x', ?, now(), now()) returning id)
     insert into post_media (post_id, workspace_id, media_id, position, part, from_url) select ?, ?, id, 0, 0, false from file`,
    [client.workspaceId, crypto.randomUUID(), without, client.workspaceId],
  );
  await connectAgain();

  const { body } = await reconnect(retrying);

  t.deepEqual(body.failed_posts.post_ids, [first, without, second]);
  t.deepEqual(body.retrying, [first, second]);
  const [row] = (await run(
    `select extract(epoch from max(retried_at) - min(retried_at))::float8 as apart from posts where id in (?)`,
    [[first, second]],
  )) as { apart: number }[];
  t.is(row?.apart, 2);
});

test('the response has a link for reconnecting only this account, and none when posts are retried', async (t) => {
  const { client, lost, run, reconnect, connectAgain } = await workspace();
  const { link } = (await reconnect()).body;
  t.regex(link, /\/connect\/[0-9A-Za-z]{32}$/v);
  const links = await run('select channel_id from connect_links where workspace_id = ?', [
    client.workspaceId,
  ]);
  t.deepEqual(links, [{ channel_id: lost }] as unknown as typeof links);
  await connectAgain();
  t.is((await reconnect(retrying)).body.link, null);
});

const withTwoChannels = () => twoChannels(api);

test('a failed post is not retried on a disconnected account until it is connected again', async (t) => {
  const { client, gone, stays, disconnect, connectAgain, show } = await withTwoChannels();
  const ended = (other: 'failed' | 'published') =>
    endedPost(
      api.punctual,
      client,
      new Map([
        [gone, 'failed'],
        [stays, other],
      ] as const),
    );
  const [alone, both] = [await ended('published'), await ended('failed')];
  await disconnect();

  const refused = await client.post(`/posts/${alone}/retry`);
  t.is(refused.status, 409);
  t.is(refused.body.code, 'nothing_to_retry');
  t.regex(
    refused.body.error,
    /was disconnected: mastodon channel @gone@social\.test .*Connect it/v,
  );
  t.deepEqual((await client.post(`/posts/${both}/retry`)).body.retrying, [stays]);
  t.like((await show(both)).channels[0], { status: 'failed' });

  await connectAgain();
  t.deepEqual((await client.post(`/posts/${alone}/retry`)).body.retrying, [gone]);
});

test('a reconnected account has its channel, its default options and its posts', async (t) => {
  const { client, gone, stays, make, show, disconnect, connectAgain } = await withTwoChannels();
  const options = { visibility: 'private' };
  await client.patch(`/channels/${gone}`, { options });
  const waiting = await make([gone, stays]);
  const published = await endedPost(api.punctual, client, new Map([[gone, 'published']]));
  await disconnect();

  t.is((await connectAgain()).id, gone);

  const { channel } = (await client.get(`/channels/${gone}`)).body;
  t.like(channel, { handle: '@new@social.test', state: 'connected', error: null, options });
  t.is((await client.get('/channels')).body.channels.length, 2);
  t.deepEqual(channelsOf(await show(waiting)), [gone, stays]);
  t.deepEqual(channelsOf(await show(published)), [gone]);
  const again = await make([gone]);
  t.deepEqual(channelsOf(await show(again)), [gone]);
  t.is((await disconnect()).body.scheduled_posts, 2);
});

test('a disconnected channel leaves room for another one', async (t) => {
  const { client, gone, disconnect, connectAgain } = await withTwoChannels();
  const { workspaceId } = client;
  const { sealer, orm } = api.punctual.deps;
  const another = () =>
    connectChannel(
      orm.em.fork(),
      sealer,
      workspaceId,
      'mastodon',
      {
        baseUrl: 'https://social.test',
        remoteId: crypto.randomUUID(),
        handle: '@another@social.test',
        credentials: {},
        session: null,
        settings: {},
      },
      { most: 2 },
    );
  await t.throwsAsync(another, { message: /may have 2 channels, and has 2/v });
  await disconnect();
  await t.notThrowsAsync(another);
  t.is((await connectAgain()).id, gone, 'without a limit of its own');
});
