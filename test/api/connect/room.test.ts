import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { createApiKey } from '../../../cli/admin/workspaces.ts';
import { clientFor } from '../../support/client.ts';
import { accountNamed, pretendOauth } from '../../support/pretend-oauth.ts';
import { poll } from '../../support/poll.ts';
import { endedPost } from '../../support/seed.ts';
import { openBrowser, wordsOf } from './person.ts';
import { answerTo, connectWorld, leaveFrom, linkFor, stage, tokenIn, walk } from './world.ts';

const { entry } = pretendOauth();
const held = Promise.withResolvers<void>();
const load = () => held.promise.then(entry.load);
const world = connectWorld(test, {}, { oauth: { slow: { ...entry, load } } });
const { fake, api } = world;

/** More than the limit of one address. */
const many = Array.from({ length: 6 }, (_, index) => index);

/** Whether another client at this address sees a page while the blocked requests are pending. */
async function seesPage(t: ExecutionContext, link: string): Promise<void> {
  const page = openBrowser(api.punctual.url).get(link);
  const shown = await Promise.race([page, pause(5000, null, { ref: false })]);
  t.is(shown?.status, 200);
}

test('a hanging network does not block others at the same address', async (t) => {
  const { client, browser } = await stage(world);
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let waiting = 0;
  await browser.get(await linkFor(client)); // One cookie for all of them.
  const answers = await Promise.all(
    many.map(async () => {
      const code = crypto.randomUUID();
      fake.codes.set(code, async () => {
        waiting += 1;
        if (waiting === many.length) {
          begun.resolve();
        }
        await gate.promise;
        return [accountNamed('@ana', code)];
      });
      return answerTo(await leaveFrom(browser, await linkFor(client)), { code });
    }),
  );
  const asked = answers.map((answer) => browser.get(answer));
  await Promise.race([begun.promise, pause(5000, null, { ref: false })]);
  await seesPage(t, await linkFor(client));
  gate.resolve();
  t.deepEqual(
    (await Promise.all(asked)).map(({ status }) => status),
    many.map(() => 303),
  );
});

test('requests of one link that wait for its network are refused beyond twelve', async (t) => {
  const { client, browser } = await stage(world);
  const page = await browser.get(await linkFor(client, { platform: 'slow' }));
  let refused = 0;
  const asked = Array.from({ length: 14 }, async () => {
    const { status } = await browser.submit(page, 'begin');
    refused += Number(status === 429);
  });
  await poll(() => refused === 2, Boolean);
  held.resolve();
  await Promise.all(asked);
  t.is(refused, 2);
});

test('a stalled form does not block others at the same address', async (t) => {
  const { client } = await stage(world);
  const link = await linkFor(client);
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': '10',
    expect: '100-continue',
  };
  const url = `${api.punctual.url}/connect/${tokenIn(link)}`;
  for (const _ of many) {
    const slow = request(url, { method: 'POST', headers });
    slow.on('error', () => undefined);
    t.teardown(() => slow.destroy());
    slow.flushHeaders();
    await once(slow, 'continue');
  }

  await seesPage(t, link);
});

test('a key has at most a hundred open links: the oldest end, all when it is revoked, and those of other keys stay', async (t) => {
  const { client, browser } = await stage(world);
  const first = await linkFor(client);
  const second = await linkFor(client);
  const other = await stage(world);
  const theirs = await linkFor(other.client);
  const { workspaceId } = client;
  const made = await createApiKey(api.punctual.orm.em.fork(), workspaceId);
  const colleagues = await linkFor(clientFor(api.punctual.url, workspaceId, made));
  for (let more = 0; more < 99; more += 1) {
    await linkFor(client);
  }

  t.is((await browser.get(first)).status, 404);
  const page = await browser.get(second);
  t.is(page.status, 200);
  const { id } = (await client.get('/me')).body.key;
  t.is((await client.delete(`/keys/${id}`)).status, 200);
  t.is((await browser.submit(page, 'begin')).status, 404);
  t.is((await browser.get(theirs)).status, 200);
  t.is((await browser.get(colleagues)).status, 200);
});

for (const [how, change] of [
  ['may not publish', `scopes = '{channels}'`],
  ['is revoked', 'revoked_at = now()'],
]) {
  test(`a link offers and sends no posts again when its key ${how}`, async (t) => {
    const { client, browser, code, channels, remoteId } = await stage(world);
    await walk(browser, await linkFor(client), code);
    const [{ id }] = await channels();
    const post = await endedPost(api.punctual, client, new Map([[id, 'failed']]));
    const em = api.punctual.orm.em.fork();
    const lose = `update post_channels set error_code = 'access_lost', tried_at = now() where post_id = ?`;
    await em.execute(lose, [post]);
    const { workspaceId } = client;
    const made = await createApiKey(em.fork(), workspaceId);
    const narrowed = clientFor(api.punctual.url, workspaceId, made);
    fake.codes.set(code, [accountNamed('@ana', remoteId)]);
    const link = await linkFor(narrowed, { channel_id: id });
    await walk(browser, link, code);
    const page = await browser.get(link);
    t.regex(wordsOf(page), /1 post was not published/v);
    const { id: keyId } = (await narrowed.get('/me')).body.key;
    await em.execute(`update api_keys set ${change} where id = ?`, [keyId]);
    t.is((await browser.submit(page, 'retry')).status, 410);
    t.notRegex(wordsOf(await browser.get(link)), /not published/v);
    t.is((await client.get(`/posts/${post}`)).body.post.status, 'failed');
  });
}

for (const [how, change] of [
  ['loses the scope', `scopes = '{posts:read}'`],
  ['is restricted to other channels', `channel_ids = '{}'`],
  ['expires', 'expires_at = now()'],
]) {
  test(`a link connects nothing after its key ${how}`, async (t) => {
    const { client, browser, code, channels } = await stage(world);
    const { workspaceId } = client;
    const made = await createApiKey(api.punctual.orm.em.fork(), workspaceId);
    const narrowed = clientFor(api.punctual.url, workspaceId, made);
    const page = await browser.get(await linkFor(narrowed));
    const back = answerTo(await leaveFrom(browser, await linkFor(narrowed)), { code });
    const { id } = (await narrowed.get('/me')).body.key;
    await api.punctual.orm.em.fork().execute(`update api_keys set ${change} where id = ?`, [id]);

    t.is((await browser.submit(page, 'begin')).status, 410);
    t.is((await browser.get(back)).status, 410);
    t.deepEqual(await channels(), []);
    await walk(browser, await linkFor(client), code);
    t.is((await channels()).length, 1);
  });
}
