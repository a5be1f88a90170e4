import test, { type ExecutionContext } from 'ava';
import { newClient } from '../../../support/client.ts';
import { startApi } from '../../../support/punctual.ts';
import { endedPost, storeChannel } from '../../../support/seed.ts';

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const ended = (status: 'published' | 'failed' | 'unconfirmed'): Promise<string> =>
    endedPost(punctual, client, new Map([[channel, status]]));
  const settle = (post: string, body: unknown) => client.post(`/posts/${post}/settle`, body);
  return { punctual, client, channel, ended, settle };
}

test('the answer is the post as it stands then, also without a plan', async (t) => {
  const { punctual, client, channel, ended, settle } = await world(t);
  const [found, absent] = [await ended('unconfirmed'), await ended('unconfirmed')];
  await punctual.orm.em.fork().execute('update workspaces set plan = null');

  const reply = await settle(found, { channel_id: channel, url: 'HTTPS://Social.test/@ana/ü' });
  t.is(reply.status, 200, JSON.stringify(reply.body));
  t.like(reply.body.post, { id: found, status: 'published', summary: { published: 1 } });
  t.is(reply.body.post.channels[0].url, 'https://social.test/@ana/%C3%BC');
  t.deepEqual((await client.get(`/posts/${found}`)).body, reply.body);

  const other = await settle(absent, { channel_id: channel, url: null });
  t.is(other.status, 200);
  t.like(other.body.post.channels[0], { status: 'failed', error_code: 'not_published' });
});

test('what is no address of a post is refused and named, and the channel stays as it is', async (t) => {
  const { client, channel, ended, settle } = await world(t);
  const post = await ended('unconfirmed');
  const before = (await client.get(`/posts/${post}`)).body;
  const wrong = [
    '',
    ' ',
    'here',
    '/@ana/1',
    '//social.test/@ana/1',
    'social.test/@ana/1',
    'ftp://social.test/1',
    'javascript:alert(1)',
    'data:text/html,x',
    'at://did:plc:x/app.bsky.feed.post/1',
    'https://',
    'https://ana:secret@social.test/1',
    'https://ana@social.test/1',
    `https://social.test/${'x'.repeat(2048)}`,
    `https://social.test/${'ü'.repeat(500)}`,
    'https://social.test/\0',
    'https://social.test/\ud800',
    1,
    true,
    [],
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

test('both fields are needed: nothing said is not the same as "it is not there"', async (t) => {
  const { channel, ended, settle } = await world(t);
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

test('a channel that is not on the post is refused and named', async (t) => {
  const { punctual, client, ended, settle } = await world(t);
  const post = await ended('unconfirmed');
  const another = await storeChannel(punctual, client.workspaceId);
  for (const id of [another, crypto.randomUUID(), 'x', '', '\0', `' or 1=1 --`]) {
    const { status, body } = await settle(post, { channel_id: id, url: null });
    t.is(status, 400, id);
    t.is(body.code, 'invalid_channel_ids', JSON.stringify(id));
    t.is(body.details[0].path, '/channel_id');
  }
});

test('a channel about which nothing is open is refused, with what it is', async (t) => {
  const { client, channel, ended, settle } = await world(t);
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
