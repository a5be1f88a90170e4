import type { Punctual } from '../../support/punctual.ts';
import { beginSend } from '../../support/seed.ts';
import type { Owned } from '../owned.ts';
import type { RecordAnswer } from './record-answer.ts';

const unknown = crypto.randomUUID();

/** Every response of the post calls that needs a case of its own. */
export async function posts(punctual: Punctual, owned: Owned, recordAnswer: RecordAnswer) {
  const { client, channel, draft, scheduled, failed, media } = owned;
  const create = async (body: object, headers = {}): Promise<void> =>
    recordAnswer('post /posts', await client.post('/posts', body, headers));
  const once = { 'idempotency-key': 'once' };
  await create({ body: 'Hello.' }, once);
  await create({ body: 'Hello.' }, once);
  await create({ body: 'Another.' }, once);
  await create({ thread: ['One.', 'Two.'], video: { title: 'Live', privacy: 'unlisted' } });
  const part = { text: 'Two.', media_ids: [media], alt_texts: { [media]: 'A cat.' } };
  const options = { channel_ids: [channel], channel_options: { [channel]: { language: 'en' } } };
  await create({ thread: ['One.', part], ...options });

  await create({ body: 'Hello.', external_id: 'taken' });
  const time = { channel_ids: [channel], schedule_in_minutes: 60 };
  const refused = [
    { bdy: 'Hello.' },
    { channel_ids: [channel] },
    { body: 'Hello.', channel_ids: ['42'] },
    { body: 'Hello.', channel_ids: [channel], channel_options: { [channel]: { nothing: 1 } } },
    { body: 'Hello.', ...time, schedule_in_minutes: -1 },
    { body: 'Hello.', media_ids: ['42'] },
    { body: 'Hello.', media_urls: ['http://example.com/cat.jpg'] },
    { body: 'Hello.', ...time, channel_ids: [] },
    { body: 'x'.repeat(501), ...time },
    { body: 'Hello.', external_id: 'taken' },
  ];
  for (const body of refused) {
    await create(body);
    recordAnswer('post /posts/validate', await client.post('/posts/validate', body));
    const edit = 'channel_ids' in body && !('body' in body) ? { body: '' } : body;
    recordAnswer('patch /posts/{id}', await client.patch(`/posts/${draft}`, edit));
  }

  recordAnswer('get /posts', await client.get('/posts'));
  for (const path of ['/posts', '/analytics', '/analytics/best-times']) {
    recordAnswer(`get ${path}`, await client.get(`${path}?channel_id=${unknown}`));
  }

  recordAnswer('get /posts/{id}', await client.get(`/posts/${draft}`));
  recordAnswer('patch /posts/{id}', await client.patch(`/posts/${draft}`, { body: 'Better.' }));
  recordAnswer('patch /posts/{id}', await client.patch(`/posts/${unknown}`, { body: 'Better.' }));
  recordAnswer('patch /posts/{id}', await client.patch(`/posts/${failed}`, { body: 'Better.' }));
  for (const id of [scheduled, draft]) {
    recordAnswer('post /posts/{id}/cancel', await client.post(`/posts/${id}/cancel`));
  }

  for (const id of [failed, draft]) {
    recordAnswer('post /posts/{id}/retry', await client.post(`/posts/${id}/retry`));
  }

  for (const post_id of [failed, unknown, 42]) {
    recordAnswer('post /analytics/refresh', await client.post('/analytics/refresh', { post_id }));
  }

  await beginSend(punctual, owned.unconfirmed);
  await settle(owned, recordAnswer);
  await unpublish(owned, recordAnswer);
  await copyAndDelete(owned, recordAnswer);
}

async function unpublish({ client, draft, published }: Owned, recordAnswer: RecordAnswer) {
  for (const post of [published, unknown, draft]) {
    const reply = await client.post(`/posts/${post}/unpublish`, {});
    recordAnswer('post /posts/{id}/unpublish', reply);
  }

  const elsewhere = { channel_ids: [unknown] };
  const reply = await client.post(`/posts/${published}/unpublish`, elsewhere);
  recordAnswer('post /posts/{id}/unpublish', reply);
}

async function copyAndDelete({ client, channel, failed }: Owned, recordAnswer: RecordAnswer) {
  const copy = async (body: object, key: string): Promise<string> => {
    const reply = await client.post(`/posts/${failed}/copy`, body, { 'idempotency-key': key });
    recordAnswer('post /posts/{id}/copy', reply);
    return reply.body.post?.id;
  };
  const id = await copy({}, 'copy');
  await copy({}, 'copy');
  await copy({ only: 'failed' }, 'copy');
  const draft = (await client.post('/posts', { body: 'Hello.' })).body.post.id;
  const none = await client.post(`/posts/${draft}/copy`, { only: 'failed' });
  recordAnswer('post /posts/{id}/copy', none);
  const remove = async (post: string): Promise<void> =>
    recordAnswer('delete /posts/{id}', await client.delete(`/posts/${post}`));
  await remove(id);
  await copy({}, 'copy');

  const once = { 'idempotency-key': 'deleted' };
  const post = { body: 'Hello.', channel_ids: [channel], schedule_in_minutes: 600 };
  await remove((await client.post('/posts', post, once)).body.post.id);
  recordAnswer('post /posts', await client.post('/posts', post, once));
}

async function settle({ client, channel, failed, unconfirmed }: Owned, recordAnswer: RecordAnswer) {
  const call = 'post /posts/{id}/settle';
  const say = async (post: string, body: object): Promise<void> =>
    recordAnswer(call, await client.post(`/posts/${post}/settle`, body));
  await say(unknown, { channel_id: channel, url: null });
  await say(failed, { channel_id: channel, url: null });
  await say(unconfirmed, { channel_id: unknown, url: null });
  await say(unconfirmed, { channel_id: channel, url: null });
  await say(unconfirmed, { channel_id: channel, url: 'here' });
  await say(unconfirmed, { channel_id: channel, url: 'https://social.test/@ana/1' });
}
