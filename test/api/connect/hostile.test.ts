import { request } from 'node:http';
import { once } from 'node:events';
import test from 'ava';
import { accountNamed } from '../../support/pretend-oauth.ts';
import { wordsOf } from './person.ts';
import { answerTo, connectWorld, leaveFrom, linkFor, stage, walk } from './world.ts';

const world = connectWorld(test);
const { fake, many, api } = world;

/** An id that PostgreSQL cannot store. */
const unstorable = () => accountNamed('@broken', `${crypto.randomUUID()}\u0000`);

test('the same link works after an internal failure', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const broken = crypto.randomUUID();
  fake.codes.set(broken, [unstorable()]);
  const link = await linkFor(client);
  t.is((await walk(browser, link, broken)).status, 500);
  t.regex(wordsOf(await browser.get(link)), /Something went wrong here.*Try again/v);
  t.is((await walk(browser, link, code)).status, 303);
  t.is((await channels()).length, 1);
});

test('the same link works after an internal failure with the chosen account', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const several = crypto.randomUUID();
  fake.codes.set(several, [unstorable(), accountNamed('@ana', crypto.randomUUID())]);
  const link = await linkFor(client);
  await walk(browser, link, several);
  const chosen = await browser.submit(await browser.get(link), 'choose', { account: '0' });
  t.is(chosen.status, 500);
  t.regex(wordsOf(await browser.get(link)), /Something went wrong here.*Try again/v);
  t.is((await walk(browser, link, code)).status, 303);
  t.is((await channels()).length, 1);
});

test('a name from a network has no control characters and no bidirectional controls', async (t) => {
  const { client, browser, channels } = await stage(world);
  const several = crypto.randomUUID();
  const named = (handle: string) => accountNamed(handle, crypto.randomUUID());
  fake.codes.set(several, [named('@a\u0000\u001b[31m\r\nb\u202e'), named(' \u0007 ')]);
  const link = await linkFor(client);
  await walk(browser, link, several);
  const page = await browser.get(link);
  t.false(['\u0000', '\u001b', '\u202e'].some((one) => page.text.includes(one)));
  t.is((await browser.submit(page, 'choose', { account: '0' })).status, 303);
  t.deepEqual(
    (await channels()).map(({ handle }: { handle: string }) => handle),
    ['@a [31m b'],
  );
});

test('an answer with an invalid Host header is handled as usual', async (t) => {
  const { client, browser, code } = await stage(world);
  const link = await linkFor(client);
  const { pathname, search } = new URL(answerTo(await leaveFrom(browser, link), { code }));
  for (const host of ['a b', '[::', 'x:99999']) {
    const asked = request(`${api.punctual.url}${pathname}${search}`, { headers: { host } }).end();
    const [response] = await once(asked, 'response');
    response.resume();
    t.is(response.statusCode, 403, host);
  }
});

test('an address of a server with invalid characters is refused', async (t) => {
  const { client } = await stage(world);
  for (const url of ['\ud800', 'https://a\udc00.example']) {
    const { status, body } = await client.post('/channels/connect', { platform: 'many', url });
    t.is(status, 400);
    t.is(body.details[0].path, '/url');
  }

  t.deepEqual(many.redeemed, []);
});
