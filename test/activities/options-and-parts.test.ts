import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fakeNetwork } from '../support/networks.ts';
import { storeFile, type TestFile } from '../support/seed-media.ts';
import type { PublishStep } from '../../networks/network.ts';

const database = beforeTests(test, freshDatabase);

const file = (name: string): TestFile => ({
  name,
  type: 'image/png',
  bytes: Buffer.from(`content of ${name}`),
  width: 10,
  height: 10,
});

/** A thread of two parts on a fake network, and the parts that the network received. */
async function thread(t: ExecutionContext) {
  const network = fakeNetwork();
  const handed: PublishStep['parts'][number][] = [];
  const { upload } = network;
  network.upload = async (connection, step) => {
    handed.push(...step.parts);
    return upload(connection, step);
  };
  const channel = await clockedChannel(t, network, database().url);
  const post = await channel.newPost(['One', 'Two'], [file('a.png')]);
  const { deps, workspaceId, channelId } = channel;
  const sql = (statement: string, ...values: unknown[]) =>
    deps.orm.em.fork().execute(statement, values);
  const store = (name: string) => storeFile(deps, workspaceId, file(name));
  return { network, handed, post, channelId, workspaceId, sql, store };
}

test('each part goes out with the options of the post over the defaults of its channel', async (t) => {
  const { handed, post, channelId, sql } = await thread(t);
  await sql(
    'update post_channels set defaults = ? where channel_id = ?',
    '{"note":"default","cover":"x"}',
    channelId,
  );
  await sql(
    'update post_channels set options = ? where channel_id = ?',
    '{"note":"own"}',
    channelId,
  );
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  const wanted = { note: 'own', cover: 'x' };
  t.deepEqual(
    handed.map(({ options }) => options),
    [wanted, wanted],
  );
});

for (const column of ['defaults', 'options'] as const) {
  test(`a file in the ${column} of a post reaches the network with its bytes`, async (t) => {
    const { handed, post, channelId, sql, store } = await thread(t);
    const options = JSON.stringify({ cover: await store('cover.png') });
    await sql(`update post_channels set ${column} = ? where channel_id = ?`, options, channelId);
    t.like(await post.attempt(), { kind: 'done', status: 'published' });
    const cover = handed[0]?.optionFiles?.['cover'];
    t.like(cover, { name: 'cover.png', type: 'image/png' });
    t.is(cover && (await text(await cover.open())), 'content of cover.png');
    t.deepEqual(
      handed.map(({ media }) => media.map(({ name }) => name)),
      [['a.png'], []],
    );
  });
}

test('a file of another workspace is not sent, whatever the options contain', async (t) => {
  const { handed, post, channelId, sql } = await thread(t);
  const cover = await (await thread(t)).store('cover.png');
  const options = JSON.stringify({ cover });
  await sql('update post_channels set options = ? where channel_id = ?', options, channelId);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(handed[0]?.optionFiles, {});
});

test('each part goes out with its own files and their alt texts for the post', async (t) => {
  const { handed, network, post, workspaceId, sql, store } = await thread(t);
  const id = await store('b.png');
  await sql(
    `insert into post_media (workspace_id, post_id, media_id, part, position, from_url, alt_text)
     select workspace_id, post_id, ?, 1, 5, false, 'For this post' from post_media where workspace_id = ?`,
    id,
    workspaceId,
  );
  await sql(`update media_files set alt_text = 'Of the file' where workspace_id = ?`, workspaceId);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(network.sentFiles, [['a.png: content of a.png'], ['b.png: content of b.png']]);
  t.deepEqual(
    handed.map(({ media }) => media.map(({ altText }) => altText)),
    [['Of the file'], ['For this post']],
  );
});
