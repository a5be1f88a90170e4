import test from 'ava';
import { sharedApi } from '../../support/kit.ts';

const api = sharedApi(test);

type Case = {
  readonly title: string;
  readonly post: { readonly body?: string; readonly thread?: readonly string[] };
  readonly listed: object;
};

const cases: readonly Case[] = [
  {
    title: 'a body of 10,000 characters is listed completely',
    post: { body: '🙂'.repeat(10_000) },
    listed: { body: '🙂'.repeat(10_000), thread: null, body_truncated: false },
  },
  {
    title: 'a body of 10,001 characters is cut between two of them',
    post: { body: `${'🙂'.repeat(10_000)}!` },
    listed: { body: '🙂'.repeat(10_000), thread: null, body_truncated: true },
  },
  {
    title: 'a thread with 10,000 characters in total is listed completely',
    // JSON escapes these with two characters each, which do not count.
    post: { thread: ['"'.repeat(4000), `${'\n'.repeat(5998)}xy`] },
    listed: { body: null, body_truncated: false },
  },
  {
    title: 'a thread is cut after 10,000 characters, and keeps all of its parts',
    post: { thread: ['a'.repeat(6000), 'b'.repeat(6000), 'c'] },
    listed: { body: null, thread: ['a'.repeat(6000), 'b'.repeat(4000), ''], body_truncated: true },
  },
];

for (const { title, post, listed } of cases) {
  test(`in the list of posts ${title}; the post itself has the full text`, async (t) => {
    const client = await api.newClient();
    const { id } = (await client.post('/posts', post)).body.post;

    t.like((await client.get('/posts')).body.posts, [{ id, ...listed }]);
    t.like((await client.get(`/posts/${id}`)).body.post, { body: null, thread: null, ...post });
  });
}

test('a page of a hundred long drafts has at most two megabytes', async (t) => {
  const client = await api.newClient();
  const draft = {
    body: 'x'.repeat(50_000),
    thread: Array.from({ length: 5 }, () => 'y'.repeat(50_000)),
  };
  for (let made = 0; made < 100; made += 1) {
    t.is((await client.post('/posts', draft)).status, 201);
  }

  const { body } = await client.get('/posts');
  t.is(body.posts.length, 100);
  t.true(JSON.stringify(body).length < 2_100_000);
});
