import test from 'ava';
import { openBrowser, refreshOf, wordsOf } from './person.ts';
import { accountNamed } from '../../support/pretend-oauth.ts';
import { answerTo, connectWorld, expire, leaveFrom, linkFor, stage, walk } from './world.ts';

const world = connectWorld(test, { returnUrls: ['https://app.example/accounts'] });
const { fake, many, api } = world;

test('a person connects an account with a link, and the page names the account and the workspace', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const made = await client.post('/channels/connect', { platform: 'fake' });
  t.is(made.status, 201);
  t.is(made.body.platform, 'fake');
  const lives = Date.parse(made.body.expires_at) - Date.now();
  t.true(lives > 14 * 60_000 && lives <= 15 * 60_000);
  const link = String(made.body.link);
  t.regex(link, /^https:\/\/punctual\.example\/connect\/[0-9A-Za-z]{32}$/v);

  const page = await browser.get(link);
  t.is(page.status, 200);
  t.regex(wordsOf(page), /connects a Fake account to Ana & Co/v);
  const back = await walk(browser, link, code);
  t.is(back.status, 303);
  t.is(back.location, new URL(link).pathname);
  const end = await browser.get(link);
  t.is(end.status, 200);
  t.regex(wordsOf(end), /@ana on Fake is connected to Ana & Co/v);
  const [channel, ...others] = await channels();
  t.deepEqual([channel.handle, channel.platform, channel.state], ['@ana', 'fake', 'connected']);
  t.deepEqual(others, []);
});

test('the caller sees what became of a link, and an event tells of the account', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const make = async () => (await client.post('/channels/connect', { platform: 'fake' })).body;
  const [used, declined, forgotten] = [await make(), await make(), await make()];
  const show = async ({ id }: { id: string }) => (await client.get(`/channels/connect/${id}`)).body;
  t.like(await show(used), { status: 'pending', channel_ids: [], error: null, error_code: null });

  await walk(browser, used.link, code);
  const [{ id: channel, platform, handle }] = await channels();
  t.like(await show(used), { status: 'connected', channel_ids: [channel], error: null });
  const [event, ...others] = (await client.get('/events')).body.events;
  t.like(event, {
    type: 'channel.connected',
    channel_id: channel,
    data: { channel: { id: channel, platform, handle } },
  });
  t.deepEqual(others, []);

  const refusal = { error: 'access_denied' };
  await browser.get(answerTo(await leaveFrom(browser, declined.link), refusal));
  t.like(await show(declined), { status: 'pending', error_code: 'denied', channel_ids: [] });
  await expire(world, declined.link);
  t.is((await show(declined)).status, 'expired');
  const nobody = crypto.randomUUID();
  fake.codes.set(nobody, []);
  await walk(browser, forgotten.link, nobody);
  t.like(await show(forgotten), { status: 'failed', error_code: 'no_account', channel_ids: [] });

  const again = (await client.post(`/channels/${channel}/reconnect`, {})).body;
  t.like(await show({ id: again.link_id }), { status: 'pending', platform });
});

test('an account that is connected again keeps its channel', async (t) => {
  const { client, browser, code, channels, remoteId } = await stage(world);
  await walk(browser, await linkFor(client), code);
  const [first] = await channels();
  fake.codes.set(code, [accountNamed('@ana-renamed', remoteId)]);
  await walk(browser, await linkFor(client), code);
  t.deepEqual(await channels(), [{ ...first, handle: '@ana-renamed' }]);
});

test('the page asks for a server that the caller did not give', async (t) => {
  const { client, browser, channels } = await stage(world);
  const code = crypto.randomUUID();
  many.codes.set(code, [accountNamed('@ana@social.example')]);
  const link = await linkFor(client, { platform: 'many' });
  const page = await browser.get(link);
  const missing = await browser.submit(page, 'begin', { url: ' ' });
  t.is(missing.status, 400);
  t.regex(wordsOf(missing), /"Your server" is missing/v);
  const leaving = await browser.submit(missing, 'begin', { url: 'https://social.example' });
  const at = new URL(refreshOf(leaving));
  t.is(at.origin, 'https://social.example');
  await browser.get(answerTo(at, { code }));
  t.is((await channels())[0].handle, '@ana@social.example');
});

test('the form is prefilled with the values of the caller', async (t) => {
  const { client, browser } = await stage(world);
  const link = await linkFor(client, { platform: 'many', url: 'https://social.example/"<b>' });
  const page = await browser.get(link);
  t.false(page.text.includes('"<b>'));
  t.is(new URL(refreshOf(await browser.submit(page, 'begin'))).hostname, 'social.example');
});

test('with a return URL the browser is sent there, with the id of the channel', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const link = await linkFor(client, {
    return_url: 'https://app.example/accounts/new?tab=1&connected=forged',
  });
  const { status, location } = await walk(browser, link, code);
  t.is(status, 303);
  const [{ id }] = await channels();
  t.is(location, `https://app.example/accounts/new?tab=1&connected=${id}`);
});

test('if a grant opens several accounts, the person chooses one', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const accounts = ['@one', '@two <b>', '@three'].map((handle) => accountNamed(handle));
  fake.codes.set(code, accounts);
  const link = await linkFor(client);
  await walk(browser, link, code);
  t.deepEqual(await channels(), []);
  const page = await browser.get(link);
  t.regex(wordsOf(page), /@one @two <b> @three/v);
  const elsewhere = openBrowser(api.punctual.url);
  t.is((await elsewhere.get(link)).status, 403);
  const none = await browser.submit(page, 'choose');
  t.regex(wordsOf(none), /Choose one of the accounts/v);
  const { status } = await browser.submit(none, 'choose', { account: '1' });
  t.is(status, 303);
  t.is((await channels()).map(({ handle }: { handle: string }) => handle).join(), '@two <b>');
  t.deepEqual(fake.redeemed.filter((one) => one === code).length, 1);
  t.is((await browser.submit(page, 'choose', { account: '0' })).status, 410);
});

test('a second authorization of a link ends the first', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const link = await linkFor(client);
  const first = await leaveFrom(browser, link);
  const second = await leaveFrom(browser, link);
  t.regex(wordsOf(await browser.get(answerTo(first, { code }))), /Nothing was connected/v);
  t.deepEqual(await channels(), []);
  t.is((await browser.get(answerTo(second, { code }))).status, 303);
  t.is((await channels()).length, 1);
});
