import test from 'ava';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';

const at = '2026-05-01T10:00:00.250Z';

/** A channel's row where something is set, and what GET shows of it. */
const results = [
  {
    channel: { platform: 'mastodon', handle: '@a@social.test' },
    row: `status = 'published', url = 'https://social.test/1', metrics = '{"likes": 2}'`,
    shown: { status: 'published', url: 'https://social.test/1', metrics: { likes: 2 } },
  },
  {
    channel: { platform: 'bluesky', handle: 'b.test' },
    row: `status = 'failed', error = 'No.', error_code = 'content_refused'`,
    shown: { status: 'failed', error: 'No.', error_code: 'content_refused' },
  },
  {
    channel: { platform: 'mastodon', handle: '@c@social.test' },
    row: `status = 'unconfirmed', error_code = 'unconfirmed'`,
    shown: { status: 'unconfirmed', error_code: 'unconfirmed' },
  },
  {
    channel: { platform: 'mastodon', handle: '@d@social.test' },
    row: `status = 'retrying', error = 'Later.', retry_at = '${at}', warning = 'Joined.'`,
    shown: { status: 'retrying', error: 'Later.', retry_at: at, warning: 'Joined.' },
  },
] as const;

const nothing = {
  url: null,
  error: null,
  error_code: null,
  warning: null,
  retry_at: null,
  body: 'x',
  metrics: null,
};

test('a post that went wrong in part shows each channel’s result, and nothing is left out', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const ids: string[] = [];
  for (const { channel } of results) {
    ids.push(await storeChannel(punctual, client.workspaceId, channel));
  }

  const { body } = await client.post('/posts', { body: 'x', channel_ids: ids });
  const { id } = body.post;
  const em = punctual.orm.em.fork();
  const times = `scheduled_at = '${at}', published_at = '${at}'`;
  await em.execute(`update posts set status = 'publishing', ${times} where id = ?`, [id]);
  for (const [index, { row }] of results.entries()) {
    await em.execute(`update post_channels set ${row} where channel_id = ?`, [ids[index]]);
  }

  const { post } = (await client.get(`/posts/${id}`)).body;

  t.like(post, { status: 'publishing', scheduled_at: at, published_at: at });
  t.deepEqual(post.summary, { published: 1, failed: 2, pending: 1 });
  const expected = results.map(({ channel, shown }, index) =>
    Object.assign({ channel_id: ids[index] }, nothing, channel, shown),
  );
  t.deepEqual(post.channels, expected);
});

test('an unknown post is 404', async (t) => {
  const client = await newClient(await startApi(t));
  const reply = await client.get(`/posts/${crypto.randomUUID()}`);
  t.is(reply.status, 404);
  t.is(reply.body.code, 'not_found');
});
