import test from 'ava';
import { connectChannel } from '../../../services/channels/connect-channel.ts';
import { sharedApi } from '../../support/kit.ts';
import { endedPost } from '../../support/seed.ts';
import { channelsOf, twoChannels } from './two-channels.ts';

const api = sharedApi(test);
const workspace = () => twoChannels(api);

test('a failed post is not retried on a disconnected account until it is connected again', async (t) => {
  const { client, gone, stays, disconnect, connectAgain, show } = await workspace();
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

test('a reconnected account has its channel and its published posts, without the removed posts', async (t) => {
  const { client, gone, stays, make, show, disconnect, connectAgain } = await workspace();
  const lost = await make([gone, stays]);
  const published = await endedPost(api.punctual, client, new Map([[gone, 'published']]));
  await disconnect();

  t.is((await connectAgain()).id, gone);

  const { channel } = (await client.get(`/channels/${gone}`)).body;
  t.like(channel, { handle: '@new@social.test', state: 'connected', error: null, options: {} });
  t.is((await client.get('/channels')).body.channels.length, 2);
  t.deepEqual(channelsOf(await show(lost)), [stays]);
  t.deepEqual(channelsOf(await show(published)), [gone]);
  const again = await make([gone]);
  t.deepEqual(channelsOf(await show(again)), [gone]);
  t.like((await disconnect()).body, { became_drafts: { count: 1, post_ids: [again] } });
});

test('a disconnected channel leaves room for another one', async (t) => {
  const { client, gone, disconnect, connectAgain } = await workspace();
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
