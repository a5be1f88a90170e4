import test from 'ava';
import { fakeNetwork } from '../support/networks.ts';
import { ledgerWorld } from '../support/ledger-world.ts';

test('a channel whose post came to light twice ends published, and shows the text of its last publishing', async (t) => {
  const world = await ledgerWorld(t, fakeNetwork());
  const post = await world.newPost(['Hello']);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  const em = world.deps.orm.em.fork();
  // A worker was silent for so long that the post was edited and sent anew, and then had its answer after all.
  await em.execute(
    `insert into publish_attempts (id, workspace_id, post_channel_id, channel_id, run, part, key, state, text,
       content_hash, remote_data, remote_id, url, created_at, updated_at)
     select gen_random_uuid(), workspace_id, post_channel_id, channel_id, run + 1, part, key || '-2', state, 'Better',
       content_hash, remote_data, 'another', url, created_at, updated_at from publish_attempts`,
  );
  await em.execute(`update posts set run = 2, status = 'publishing'`);
  await em.execute(`update post_channels set status = 'publishing'`);

  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.is((await post.row()).sentText, 'Better');
});
