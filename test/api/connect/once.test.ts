import test from 'ava';
import { accountNamed } from '../../support/pretend-oauth.ts';
import { endedPost } from '../../support/seed.ts';
import { openBrowser, wordsOf } from './person.ts';
import {
  answerTo,
  connectWorld,
  expire,
  leaveFrom,
  linkFor,
  rowOf,
  stage,
  tokenIn,
  walk,
} from './world.ts';

const world = connectWorld(test);
const { fake, api } = world;

const redeemedOf = (code: string): number => fake.redeemed.filter((one) => one === code).length;

test('an answer that arrives many times at once is redeemed once, and creates one channel', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const back = answerTo(await leaveFrom(browser, await linkFor(client)), { code });
  const answers = await Promise.all(Array.from({ length: 8 }, () => browser.get(back)));
  t.deepEqual(answers.map(({ status }) => status).toSorted(), [
    303,
    ...Array.from({ length: 7 }, () => 410),
  ]);
  t.is(redeemedOf(code), 1);
  t.is((await channels()).length, 1);
});

test('a link that connected an account connects no other', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const link = await linkFor(client);
  const page = await browser.get(link);
  await walk(browser, link, code);
  const other = crypto.randomUUID();
  fake.codes.set(other, [accountNamed('@mallory')]);
  t.is((await browser.submit(page, 'begin')).status, 410);
  const stranger = openBrowser(api.punctual.url);
  const seen = await stranger.get(link);
  t.is(seen.status, 410);
  t.regex(wordsOf(seen), /This link was used already/v);
  t.notRegex(wordsOf(seen), /Nothing was connected/v);
  t.false(seen.text.includes('@ana'), 'the account is not shown to others');
  t.is((await channels()).length, 1);
});

test('an expired link connects nothing, at every step', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const opened = await linkFor(client);
  const page = await browser.get(opened);
  await expire(world, opened);
  const begun = await browser.submit(page, 'begin');
  t.is(begun.status, 410);
  t.regex(wordsOf(begun), /expired\. Ask for a new one/v);
  t.is((await browser.get(opened)).status, 410);

  const left = await linkFor(client);
  const back = answerTo(await leaveFrom(browser, left), { code });
  await expire(world, left);
  t.is((await browser.get(back)).status, 410);
  t.is(redeemedOf(code), 0);

  const chosen = await linkFor(client);
  const several = crypto.randomUUID();
  fake.codes.set(several, [accountNamed('@one'), accountNamed('@two')]);
  await walk(browser, chosen, several);
  const choice = await browser.get(chosen);
  await expire(world, chosen);
  t.is((await browser.submit(choice, 'choose', { account: '0' })).status, 410);
  t.deepEqual(await channels(), []);
});

test('previews and other reads do not use up a link', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const link = await linkFor(client);
  const before = await rowOf(world, link);
  for (const headers of [{}, { 'sec-purpose': 'prefetch' }, { 'user-agent': 'Slackbot 1.0' }]) {
    t.is((await openBrowser(api.punctual.url).get(link, headers)).status, 200);
  }

  await fetch(`${api.punctual.url}/connect/${tokenIn(link)}`, { method: 'HEAD' });
  t.deepEqual(await rowOf(world, link), before);
  const back = answerTo(await leaveFrom(browser, link), { code });
  const { pathname, search } = new URL(back);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const looked = { method: 'HEAD', headers: { cookie } };
  await fetch(`${api.punctual.url}${pathname}${search}`, looked);
  t.is(redeemedOf(code), 0);
  t.is((await browser.get(back)).status, 303);
  t.is((await channels()).length, 1);
});

test('an account is connected to the workspace of its link', async (t) => {
  const [mine, theirs] = [await stage(world), await stage(world)];
  const link = await linkFor(mine.client);
  await linkFor(theirs.client);
  await walk(mine.browser, link, mine.code);
  t.is((await mine.channels()).length, 1);
  t.deepEqual(await theirs.channels(), []);
});

test('if the channel cannot be stored, the link is not partly used up', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const link = await linkFor(client);
  const back = answerTo(await leaveFrom(browser, link), { code });
  fake.codes.set(code, async () => {
    await expire(world, link);
    return [accountNamed('@late')];
  });
  await browser.get(back);
  t.deepEqual(await channels(), [], 'the link expired during the request');
  t.is((await browser.get(link)).status, 410);
});

/** An id that PostgreSQL cannot store. */
const unstorable = () => accountNamed('@broken', `${crypto.randomUUID()}\u0000`);

test('the same link works after an internal failure with the chosen account', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const several = crypto.randomUUID();
  fake.codes.set(several, [unstorable(), accountNamed('@ana', crypto.randomUUID())]);
  const link = await linkFor(client);
  await walk(browser, link, several);
  const chosen = await browser.submit(await browser.get(link), 'choose', { account: '0' });
  t.is(chosen.status, 500);
  t.regex(wordsOf(chosen), /X-Request-Id [\w\-]{36}/v);
  t.regex(wordsOf(await browser.get(link)), /Something went wrong here.*Try again/v);
  t.is((await walk(browser, link, code)).status, 303);
  t.is((await channels()).length, 1);
});

test('after a reconnect the person can retry the posts that failed because of it, once', async (t) => {
  const { client, browser, code, channels, remoteId } = await stage(world);
  const first = await linkFor(client);
  await walk(browser, first, code);
  t.notRegex(wordsOf(await browser.get(first)), /last 24 hours/v);
  const [{ id }] = await channels();
  const em = api.punctual.orm.em.fork();
  const posts: string[] = [];
  for (const errorCode of ['access_lost', 'access_lost', 'content_refused', 'access_lost']) {
    const post = await endedPost(api.punctual, client, new Map([[id, 'failed']]));
    await em.execute(
      'update post_channels set error_code = ?, tried_at = now() where post_id = ?',
      [errorCode, post],
    );
    posts.push(post);
  }

  await em.execute("update posts set status = 'publishing' where id = ?", [posts.pop()]);
  fake.codes.set(code, [accountNamed('@ana', remoteId)]);
  const link = await linkFor(client, { channel_id: id });
  await walk(browser, link, code);
  const page = await browser.get(link);
  t.regex(wordsOf(page), /3 posts were not published, only because the access/v);
  t.is((await openBrowser(api.punctual.url).get(link)).status, 410);
  const done = await browser.submit(page, 'retry');
  t.regex(wordsOf(done), /2 posts are sent again.*1 post was not published.*sent elsewhere/v);
  const again = await browser.submit(page, 'retry');
  t.regex(wordsOf(again), /Nothing to publish now/v);
  const isFailed = async (post: string) =>
    (await client.get(`/posts/${post}`)).body.post.status === 'failed';
  t.deepEqual(await Promise.all(posts.map(isFailed)), [false, false, true]);
});
