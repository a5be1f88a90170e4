import test from 'ava';
import { endedPost } from '../../support/seed.ts';
import { accountNamed } from '../../support/pretend-oauth.ts';
import { openBrowser, wordsOf } from './person.ts';
import { connectWorld, linkFor, stage, walk } from './world.ts';

const world = connectWorld(test);
const { fake, api } = world;

test('after a reconnect the person can retry the posts that failed because of it, once', async (t) => {
  const { client, browser, code, channels, remoteId } = await stage(world);
  const first = await linkFor(client);
  await walk(browser, first, code);
  t.notRegex(wordsOf(await browser.get(first)), /last 24 hours/v);
  const [{ id }] = await channels();
  const em = api.punctual.orm.em.fork();
  const posts: string[] = [];
  for (const errorCode of ['access_lost', 'access_lost', 'content_refused']) {
    const post = await endedPost(api.punctual, client, new Map([[id, 'failed']]));
    await em.execute(
      'update post_channels set error_code = ?, tried_at = now() where post_id = ?',
      [errorCode, post],
    );
    posts.push(post);
  }

  fake.codes.set(code, [accountNamed('@ana', remoteId)]);
  const link = await linkFor(client, { channel_id: id });
  await walk(browser, link, code);
  const page = await browser.get(link);
  t.regex(wordsOf(page), /2 posts were not published, only because the access/v);
  t.is((await openBrowser(api.punctual.url).get(link)).status, 410);
  const done = await browser.submit(page, 'retry');
  t.regex(wordsOf(done), /2 posts are sent again/v);
  const again = await browser.submit(page, 'retry');
  t.regex(wordsOf(again), /Nothing was left to publish/v);
  const failed: boolean[] = [];
  for (const post of posts) {
    failed.push((await client.get(`/posts/${post}`)).body.post.status === 'failed');
  }

  t.deepEqual(failed, [false, false, true]);
});
