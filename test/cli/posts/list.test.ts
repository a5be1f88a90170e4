import test, { type ExecutionContext } from 'ava';
import { endedPost, storeChannel } from '../../support/seed.ts';
import { newClient, type Client } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';
import { adminOf, areRefused } from './admin.ts';

async function world(t: ExecutionContext) {
  const punctual = await startApi(t);
  const admin = adminOf(punctual);
  const em = punctual.orm.em.fork();
  const member = async () => {
    const client = await newClient(punctual);
    return { client, channel: await storeChannel(punctual, client.workspaceId) };
  };
  /** A scheduled post whose time was so many seconds ago. */
  const late = async (client: Client, channel: string, seconds: number): Promise<string> => {
    const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 60 };
    const { id } = (await client.post('/posts', post)).body.post;
    const sql = `update posts set scheduled_at = now() - ? * interval '1 second' where id = ?`;
    await em.execute(sql, [seconds, id]);
    return id;
  };
  const ids = async (...words: string[]): Promise<string[]> =>
    (await admin.post('list', ...words)).data.posts.map((post: { id: string }) => post.id);
  return { punctual, admin, em, member, late, ids };
}

test('what is overdue is listed over all workspaces, the latest first, and nothing that has a moment yet', async (t) => {
  const { admin, member, late, ids } = await world(t);
  t.is((await admin.post('list', '--overdue')).text, 'No post is overdue.');
  const [one, other] = [await member(), await member()];
  const minutes = await late(one.client, one.channel, 300);
  const hours = await late(other.client, other.channel, 7200);
  await late(one.client, one.channel, 1);
  await late(one.client, one.channel, -60);

  t.deepEqual(await ids('--overdue'), [hours, minutes]);
  t.deepEqual(await ids('--overdue', '--workspace', one.client.workspaceId), [minutes]);
  const { data, text } = await admin.post('list', '--overdue', '--limit', '1');
  t.is(data.has_more, true);
  t.like(data.posts[0], { id: hours, status: 'scheduled' });
  t.like(data.posts[0].channels[0], { channel_id: other.channel, status: 'scheduled' });
  t.regex(text, new RegExp(`^${hours}  scheduled, due .*Z \\(2 h ago\\)`, 'v'));
  t.regex(text, /There are more: --limit 10/v);
});

test('a post that waits for its retry is overdue, and says until when and why', async (t) => {
  const { admin, em, member, late } = await world(t);
  const { client, channel } = await member();
  const post = await late(client, channel, 60);
  await em.execute(
    `update post_channels set status = 'retrying', error_code = 'rate_limited', retry_at = '2027-03-01T09:00:00Z',
       error = ? where post_id = ?`,
    [`Too \x1b[31mfast.\n${'y'.repeat(300)}`, post],
  );
  const { text } = await admin.post('list', '--overdue');
  t.regex(
    text,
    /retrying {2}rate_limited {2}next try 2027-03-01T09:00:00.000Z {2}Too {2}\[31mfast. y+…$/v,
  );
});

test('what failed and what is unconfirmed is listed, what ended last first, with the channels that it is about', async (t) => {
  const { punctual, admin, em, member, ids } = await world(t);
  const { client, channel } = await member();
  const out = await storeChannel(punctual, client.workspaceId);
  t.is((await admin.post('list', '--failed')).text, 'No post has failed.');
  t.is((await admin.post('list', '--unconfirmed')).text, 'No channel is unconfirmed.');
  const ended = (status: 'failed' | 'unconfirmed') =>
    endedPost(punctual, client, new Map([[channel, status] as const, [out, 'published'] as const]));
  const [first, second, unconfirmed] = [
    await ended('failed'),
    await ended('failed'),
    await ended('unconfirmed'),
  ];
  await endedPost(punctual, client, new Map([[out, 'published']]));
  await em.execute(`update posts set updated_at = updated_at + interval '1 hour' where id = ?`, [
    first,
  ]);

  t.deepEqual(await ids('--failed'), [first, unconfirmed, second]);
  t.deepEqual(await ids('--unconfirmed'), [unconfirmed]);
  const { data } = await admin.post('list', '--unconfirmed');
  t.is(data.has_more, false);
  t.is(data.posts[0].channels.length, 1);
  t.like(data.posts[0].channels[0], { channel_id: channel, error_code: 'unconfirmed' });
});

test('the words of the call are checked before anything is looked for', async (t) => {
  const { admin, member } = await world(t);
  const { client } = await member();
  await areRefused(t, admin, [
    [['list'], 'UsageError', /one of --overdue, --failed, --unconfirmed is wanted/v],
    [['list', '--overdue', '--failed'], 'UsageError', /one of --overdue, --failed, --unconf/v],
    [['list', '--failed=yes'], 'UsageError', /does not take an argument/v],
    [['list', '--failed', '--limit', '0'], 'UsageError', /whole number from 1 to 9999, not "0"/v],
    [['list', '--failed', '--limit', 'x'], 'UsageError', /--limit must be/v],
    [['list', '--failed', '--workspace', 'nope'], 'AppError', /no workspace "nope"/v],
    [['list', '--failed', client.workspaceId], 'UsageError', /one word too many/v],
  ]);
});

test('as a process it says the same, to people and to programs', async (t) => {
  const { admin, member, late } = await world(t);
  const { client, channel } = await member();
  const post = await late(client, channel, 300);
  const { code, stdout, stderr } = await admin.run('post', 'list', '--overdue');
  t.deepEqual([code, stderr], [0, '']);
  t.true(stdout.startsWith(post));
  const json = await admin.run('post', 'list', '--overdue', '--json');
  t.is(JSON.parse(json.stdout).posts[0].id, post);
  const wrong = await admin.run('post', 'list');
  t.deepEqual([wrong.code, wrong.stdout], [2, '']);
});
