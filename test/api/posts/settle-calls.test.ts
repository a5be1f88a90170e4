import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { beginSend, endedPost, storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

/** A workspace with a channel, ended posts, and a function that settles one. */
async function settling() {
  const client = await api.newClient();
  const channel = await storeChannel(api.punctual, client.workspaceId, { handle: '@0@x.test' });
  const endPlan = () =>
    api.punctual.orm.em
      .fork()
      .execute('update workspaces set plan = null where id = ?', [client.workspaceId]);
  const ended = (status: 'published' | 'failed' | 'unconfirmed'): Promise<string> =>
    endedPost(api.punctual, client, new Map([[channel, status]]));
  const settle = (post: string, body: unknown) => client.post(`/posts/${post}/settle`, body);
  return { client, channel, ended, settle, endPlan };
}

test('settle returns the updated post, also without a plan', async (t) => {
  const { client, channel, ended, settle, endPlan } = await settling();
  const [found, absent] = [await ended('unconfirmed'), await ended('unconfirmed')];
  await endPlan();

  const reply = await settle(found, { channel_id: channel, url: 'HTTPS://Social.test/@0/1?ü' });
  t.is(reply.status, 200, JSON.stringify(reply.body));
  t.like(reply.body.post, { id: found, status: 'published', summary: { published: 1 } });
  t.is(reply.body.post.channels[0].url, 'https://social.test/@0/1?%C3%BC');
  t.deepEqual((await client.get(`/posts/${found}`)).body, reply.body);

  const other = await settle(absent, { channel_id: channel, url: null });
  t.is(other.status, 200);
  t.like(other.body.post.channels[0], { status: 'failed', error_code: 'not_published' });
});

test('an invalid URL is refused and named, and the channel is unchanged', async (t) => {
  const { client, channel, ended, settle } = await settling();
  const post = await ended('unconfirmed');
  const before = (await client.get(`/posts/${post}`)).body;
  const wrong = [
    '',
    'here',
    '//social.test/@ana/1',
    'ftp://social.test/1',
    'javascript:alert(1)',
    'at://did:plc:x/app.bsky.feed.post/1',
    'https://ana:secret@social.test/1',
    `https://social.test/${'x'.repeat(2048)}`,
    `https://social.test/${'ü'.repeat(500)}`,
    'https://social.test/\ud800',
    1,
    {},
  ];
  for (const url of wrong) {
    const { status, body } = await settle(post, { channel_id: channel, url });
    t.is(status, 400, JSON.stringify(url));
    t.is(body.code, 'invalid_request');
    t.is(body.details[0].path, '/url');
  }

  t.deepEqual((await client.get(`/posts/${post}`)).body, before);
});

test('both fields are required: a missing url is not the same as null', async (t) => {
  const { channel, ended, settle } = await settling();
  const post = await ended('unconfirmed');
  for (const [body, path] of [
    [{ channel_id: channel }, '/url'],
    [{ url: null }, '/channel_id'],
    [{ channel_id: null, url: null }, '/channel_id'],
    [{ channel_id: channel, url: null, sure: true }, '/sure'],
  ] as const) {
    const reply = await settle(post, body);
    t.is(reply.status, 400);
    t.is(reply.body.code, 'invalid_request');
    t.is(reply.body.details[0].path, path);
  }
});

test('null soon after the request is refused with the time to wait', async (t) => {
  const { client, channel, ended, settle } = await settling();
  const post = await ended('unconfirmed');
  await beginSend(api.punctual, post);
  const { status, body, headers } = await settle(post, { channel_id: channel, url: null });
  t.is(status, 409);
  t.is(body.code, 'settle_too_early');
  const seconds = Number(headers.get('retry-after'));
  t.true(seconds > 0 && seconds <= 60, String(seconds));
  t.is((await client.get(`/posts/${post}`)).body.post.channels[0].status, 'unconfirmed');
});

test('a channel that is not unconfirmed is refused, with its status', async (t) => {
  const { client, channel, ended, settle } = await settling();
  const draft = (await client.post('/posts', { body: 'x', channel_ids: [channel] })).body.post.id;
  for (const [post, status] of [
    [await ended('published'), 'published'],
    [await ended('failed'), 'failed'],
    [draft, 'a draft'],
  ]) {
    for (const url of [null, 'https://social.test/1']) {
      const { body, ...reply } = await settle(post, { channel_id: channel, url });
      t.is(reply.status, 409);
      t.deepEqual(body, {
        error: `The channel is ${status}; only an unconfirmed one can be settled.`,
        code: 'nothing_to_settle',
      });
    }
  }
});
