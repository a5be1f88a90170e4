import test from 'ava';
import type { ChannelStatus, PostStatus } from '../../../domain/statuses.ts';
import { sharedApi } from '../../support/kit.ts';
import { setStatus, storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

/** A workspace with three channels, and posts on all of them. */
async function workspace() {
  const client = await api.newClient();
  const channels: string[] = [];
  for (const handle of ['@0@x.test', '@1@x.test', '@2@x.test']) {
    channels.push(await storeChannel(api.punctual, client.workspaceId, { handle }));
  }

  const post = { body: 'x', channel_ids: channels, schedule_in_minutes: 60 };
  const make = async (status: PostStatus, statuses: readonly ChannelStatus[]): Promise<string> => {
    const { id } = (await client.post('/posts', post)).body.post;
    await setStatus(api.punctual, id, status, statuses);
    return id;
  };
  const unpublish = (id: string, body: object = {}) => client.post(`/posts/${id}/unpublish`, body);
  return { client, channels, make, unpublish };
}

type Shown = { readonly unpublish: { readonly status: string } | null };

const removals = (channels: readonly Shown[]): (string | null)[] =>
  channels.map(({ unpublish }) => unpublish && unpublish.status);

test('every published channel, or only the named ones, are being removed at once; a repeated call changes nothing', async (t) => {
  const { channels, make, unpublish, client } = await workspace();
  const all = await unpublish(await make('published', ['published', 'published', 'published']));
  t.is(all.status, 202);
  t.deepEqual(removals(all.body.post.channels), ['pending', 'pending', 'pending']);
  t.like(all.body.post, { status: 'published', summary: { published: 3, failed: 0, pending: 0 } });

  const id = await make('failed', ['published', 'failed', 'published']);
  const one = await unpublish(id, { channel_ids: [channels[2]] });
  t.deepEqual(removals(one.body.post.channels), [null, null, 'pending']);
  const again = await unpublish(id, { channel_ids: [channels[2]] });
  t.is(again.status, 202);
  t.deepEqual(again.body, one.body);
  const rest = await unpublish(id);
  t.deepEqual(removals(rest.body.post.channels), ['pending', null, 'pending']);
  t.is((await client.post(`/posts/${id}/retry`)).status, 202);
});

test('a post is not removed from a disconnected account, and the refusal says to connect it again', async (t) => {
  const { channels, make, unpublish, client } = await workspace();
  const id = await make('published', ['published', 'published', 'published']);
  await client.delete(`/channels/${channels[0]}`);
  const { status, body } = await unpublish(id, { channel_ids: [channels[0]] });
  t.is(status, 409);
  t.regex(body.error, /was disconnected: .*@0@x\.test.* Connect it again, then unpublish/v);
  t.is((await unpublish(id)).status, 409);
  t.is((await unpublish(id, { channel_ids: channels.slice(1) })).status, 202);
});

test('a post that is not live, not ended or unconfirmed is refused, and the refusal says what to do', async (t) => {
  const { channels, make, unpublish } = await workspace();
  const cases: [PostStatus, ChannelStatus[], RegExp][] = [
    ['draft', ['draft', 'draft', 'draft'], /^The post was published on no channel.* DELETE/v],
    ['failed', ['failed', 'failed', 'failed'], /^The post was published on no channel.* DELETE/v],
    [
      'scheduled',
      ['scheduled', 'scheduled', 'scheduled'],
      /^Publishing has not ended on .*cancel/v,
    ],
    [
      'publishing',
      ['published', 'retrying', 'published'],
      /@1@x.test .*Wait for its end.* Name the/v,
    ],
    ['failed', ['published', 'unconfirmed', 'failed'], /^Unconfirmed: .*@1@x.test.*settle/v],
  ];
  for (const [status, statuses, message] of cases) {
    const { status: code, body } = await unpublish(await make(status, statuses));
    t.is(code, 409, statuses.join());
    t.is(body.code, 'nothing_to_unpublish');
    t.regex(body.error, message);
  }

  const id = await make('publishing', ['published', 'retrying', 'published']);
  t.is((await unpublish(id, { channel_ids: [channels[0]] })).status, 202);
  const unknown = await unpublish(id, { channel_ids: [channels[0], crypto.randomUUID()] });
  t.is(unknown.status, 400);
  t.like(unknown.body, { code: 'invalid_channel_ids', details: [{ path: '/channel_ids/1' }] });
});

test('a refusal tells whether other channels have the post, or had it', async (t) => {
  const { channels, make, unpublish } = await workspace();
  const id = await make('failed', ['published', 'failed', 'failed']);
  const refusal = async () =>
    (await unpublish(id, { channel_ids: channels.slice(1, 2) })).body.error as string;
  t.regex(await refusal(), /not live on [^,]*@1@x.test.* live on [^,]*@0@x.test.*: name it/v);
  t.is((await unpublish(id)).status, 202);
  t.regex(await refusal(), /not live on [^,]*@1@x.test.* removed already, or being removed/v);

  const doubted = await make('failed', ['failed', 'unconfirmed', 'failed']);
  const { body } = await unpublish(doubted, { channel_ids: channels.slice(0, 1) });
  t.notRegex(body.error, /DELETE|on no channel/v);
});

test('a draft whose live part is being removed cannot be scheduled meanwhile', async (t) => {
  const { channels, make, unpublish, client } = await workspace();
  const id = await make('draft', ['published', 'draft', 'draft']);
  t.is((await unpublish(id, { channel_ids: [channels[0]] })).status, 202);
  const edited = await client.patch(`/posts/${id}`, { schedule_in_minutes: 5 });
  t.is(edited.status, 409);
  t.is(edited.body.code, 'post_not_editable');
});

test('of a retry and an unpublish of the same failed thread at the same moment, one wins', async (t) => {
  const { make, unpublish, client } = await workspace();
  for (let round = 0; round < 5; round += 1) {
    const id = await make('failed', ['failed', 'failed', 'failed']);
    await api.punctual.orm.em.fork().execute(
      `insert into post_parts (id, workspace_id, post_channel_id, channel_id, run, part, key, state, text, remote_data, remote_id, url, created_at, updated_at)
       select gen_random_uuid(), workspace_id, id, channel_id, 1, 0, id::text, 'sent', 'x', 'null', id::text, 'https://social.test/1', now(), now()
       from post_channels where post_id = ?`,
      [id],
    );
    const [retried, removed] = await Promise.all([
      client.post(`/posts/${id}/retry`),
      unpublish(id),
    ]);
    t.deepEqual([retried.status, removed.status].toSorted(), [202, 409]);
    const { post } = (await client.get(`/posts/${id}`)).body;
    const pending = removals(post.channels).filter((status) => status === 'pending').length;
    t.is(pending, retried.status === 202 ? 0 : 3);
    t.is(post.status, retried.status === 202 ? 'publishing' : 'failed');
  }
});
