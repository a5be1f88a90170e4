import test from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import type { Connector } from '../../../networks/network-entry.ts';
import { accountNamed, pretendOauth } from '../../support/pretend-oauth.ts';
import { limit } from '../quotas/limited.ts';
import { refreshOf, wordsOf } from './person.ts';
import { answerTo, connectWorld, leaveFrom, linkFor, rowOf, stage, walk } from './world.ts';

const moving = pretendOauth();
const secretive = pretendOauth({ takesSecret: true });
const once = pretendOauth({ asksOnce: true });
const passwords = new Map<string, string>();
const connector: Connector = {
  options: {
    url: { placeholder: 'https://pds.example', required: true },
    'web-url': { placeholder: 'https://app.example', required: false },
  },
  secret: 'app-password',
  summary: 'Connects.',
  connect: async (_http, { url = '', 'app-password': password = '' }) => {
    if (password === 'away') {
      throw new NetworkError('network_unavailable', 'It is away.', { accepted: 'no' });
    }

    const handle = passwords.get(password);
    if (handle === undefined) {
      throw new NetworkError('access_lost', 'The password is wrong.', { accepted: 'no' });
    }

    return { ...accountNamed(handle), baseUrl: url, isProved: password.startsWith('proved') };
  },
  sandbox: (url) => ({ url, 'app-password': 'demo' }),
};
const world = connectWorld(
  test,
  { returnUrls: ['https://app.example'] },
  {
    oauth: { moving: moving.entry, secretive: secretive.entry, once: once.entry },
    connectors: { secretive: connector } as object,
  },
);
const { fake, api } = world;

test('after a refusal the page says so, and the person may try again', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const link = await linkFor(client);
  const at = await leaveFrom(browser, link);
  const denied = await browser.get(answerTo(at, { error: 'access_denied' }));
  t.is(denied.status, 303);
  const page = await browser.get(link);
  t.regex(wordsOf(page), /You did not allow it/v);
  t.is((await browser.get(answerTo(at, { code }))).status, 400, 'that authorization has ended');
  t.deepEqual(await channels(), []);
  await walk(browser, link, code);
  t.is((await channels()).length, 1);
});

test('after a refusal the page has a link back to the app, with the error code', async (t) => {
  const { client, browser } = await stage(world);
  const link = await linkFor(client, { return_url: 'https://app.example/x?user=1' });
  const before = await browser.get(link);
  t.false(before.text.includes('https://app.example/x'), 'nothing has happened yet');
  const at = await leaveFrom(browser, link);
  await browser.get(answerTo(at, { error: 'access_denied' }));
  const page = await browser.get(link);
  t.regex(wordsOf(page), /Back to app\.example/v);
  t.true(page.text.includes('href="https://app.example/x?user=1&amp;error=denied"'), page.text);
});

test('an internal failure is shown without its cause, and the link can be used again', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const link = await linkFor(client);
  const broken = crypto.randomUUID();
  fake.codes.set(broken, () => Promise.reject(new Error(`secret ${broken}`)));
  const seen = await walk(browser, link, broken);
  t.is(seen.status, 500);
  t.false(seen.text.includes(broken));
  await walk(browser, link, code);
  t.is((await channels()).length, 1);
});

test('another account than the channel has changes nothing, and the page names it', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  await walk(browser, await linkFor(client), code);
  const before = await channels();
  const back = { channel_id: before[0].id, return_url: 'https://app.example/x' };
  const link = await linkFor(client, back);
  t.regex(wordsOf(await browser.get(link)), /Connect @ana on Fake again/v);
  const other = crypto.randomUUID();
  fake.codes.set(other, [accountNamed('@berta')]);
  await walk(browser, link, other);
  const page = await browser.get(link);
  t.regex(wordsOf(page), /let you in as @berta, and this link is for @ana/v);
  t.regex(wordsOf(page), /Sign in there as @ana, and ask for a new link/v);
  t.true(page.text.includes('https://app.example/x?error=wrong_account'));
  t.deepEqual(await channels(), before);
  t.is((await rowOf(world, link))['sealed_flow'], null, 'the grant is not kept');

  await walk(browser, await linkFor(client, { channel_id: before[0].id }), code);
  t.deepEqual(await channels(), before, 'the right account keeps its channel');
});

test('a link for a channel selects its account among several', async (t) => {
  const { client, browser, code, remoteId, channels } = await stage(world);
  await walk(browser, await linkFor(client), code);
  const before = await channels();
  fake.codes.set(code, [accountNamed('@berta'), accountNamed('@ana', remoteId)]);
  const done = await walk(browser, await linkFor(client, { channel_id: before[0].id }), code);
  t.is(done.status, 303);
  t.deepEqual(await channels(), before);
});

test('the same id at another server is another account, unless its network proves otherwise', async (t) => {
  for (const [platform, network, isSame] of [
    ['fake', fake, false],
    ['moving', moving, true],
  ] as const) {
    const { client, browser, code, channels } = await stage(world);
    network.codes.set(code, [accountNamed('@ana', 'did:plc:ana')]);
    await walk(browser, await linkFor(client, { platform }), code);
    const [{ id }] = await channels();
    const baseUrl = 'https://other.example';
    const moved = { ...accountNamed('@ana', 'did:plc:ana'), baseUrl, isProved: isSame };
    network.codes.set(code, [moved]);
    await walk(browser, await linkFor(client, { platform, channel_id: id }), code);
    await walk(browser, await linkFor(client, { platform }), code);
    t.is((await channels()).length, isSame ? 1 : 2, platform);
  }
});

test('a workspace at its channel limit gets no link, and no channel by an earlier link', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const [early, other] = [await linkFor(client), await linkFor(client)];
  await walk(browser, early, code);
  await limit(api.punctual, client, { channels: 1 });
  const refused = await client.post('/channels/connect', { platform: 'fake' });
  t.deepEqual([refused.status, refused.body.code], [402, 'quota_exceeded']);
  const second = crypto.randomUUID();
  fake.codes.set(second, [accountNamed('@berta')]);
  await walk(browser, other, second);
  t.regex(wordsOf(await browser.get(other)), /may have 1 channels/v);
  const [{ id }] = await channels();
  const again = await linkFor(client, { channel_id: id });
  t.is((await walk(browser, again, code)).status, 303);
  t.is((await channels()).length, 1);
});

test('an unconfigured network names its settings, and an unknown one lists the known ones', async (t) => {
  const { client } = await stage(world);
  const bare = await client.post('/channels/connect', { platform: 'bare' });
  t.deepEqual([bare.status, bare.body.code], [409, 'network_not_configured']);
  t.regex(bare.body.error, /PUNCTUAL_BARE_CLIENT_ID and PUNCTUAL_BARE_CLIENT_SECRET/v);
  const none = await client.post('/channels/connect', { platform: 'constructor' });
  t.is(none.status, 400);
  t.regex(none.body.error, /must be one of .*fake, many, bare/v);
  const sandbox = await client.post('/channels/connect', { platform: 'fake', sandbox: true });
  t.is(sandbox.body.details[0].path, '/sandbox');
  const url = await client.post('/channels/connect', {
    platform: 'fake',
    url: 'https://x.example',
  });
  t.is(url.body.details[0].path, '/url');
});

test('an app password connects an account too, and a wrong one may be corrected', async (t) => {
  const { client, browser, channels } = await stage(world);
  const password = crypto.randomUUID();
  passwords.set(password, '@app');
  const link = await linkFor(client, { platform: 'secretive' });
  const page = await browser.get(link);
  const wrong = await browser.submit(page, 'secret', { 'app-password': 'wrong' });
  t.is(wrong.status, 400);
  t.regex(wordsOf(wrong), /The password is wrong/v);
  t.false(wrong.text.includes('value="wrong"'));
  const filled = {
    url: '\u202Ahttps://mine.example\u202C',
    'app-password': `\u2060${password}\u200E`,
  };
  t.is((await browser.submit(wrong, 'secret', filled)).status, 303);
  const end = await browser.get(link);
  t.regex(wordsOf(end), /@app on Secretive is connected/v);
  t.false(end.text.includes(password));
  t.is((await channels()).length, 1);
  t.is((await browser.submit(page, 'secret', filled)).status, 410);
});

test('a secret moves a channel to another server if the account is proved there, and has no other channel', async (t) => {
  const { client, browser, channels } = await stage(world);
  const [plain, proved] = [crypto.randomUUID(), `proved-${crypto.randomUUID()}`];
  passwords.set(plain, '@app').set(proved, '@app');
  const type = async (server: string, password: string, body: object = {}) => {
    const link = await linkFor(client, { platform: 'secretive', ...body });
    const filled = { url: `https://${server}.example`, 'app-password': password };
    return wordsOf(await browser.submit(await browser.get(link), 'secret', filled));
  };
  await type('old', plain);
  const [{ id }] = await channels();
  const again = { channel_id: id };
  const names = /as @app \(@app on new\.example\), and .* for @app \(@app on old\.example\)\./v;
  t.regex(await type('new', plain, again), names);
  t.like(await channels(), { length: 1, 0: { id, server: 'old.example' } });

  await type('new', plain);
  const other = (await channels()).find((channel: { id: string }) => channel.id !== id);
  t.true((await type('new', proved, again)).includes(`also connected as the channel ${other.id}.`));
  await client.delete(`/channels/${other.id}`);
  for (const [server, body] of [
    ['new', again],
    ['newer', {}],
  ] as const) {
    await type(server, proved, body);
    t.like(await channels(), { length: 1, 0: { id, server: `${server}.example` } });
  }
});

test('an option that the page does not show is refused', async (t) => {
  const { client, browser, channels } = await stage(world);
  const password = crypto.randomUUID();
  passwords.set(password, '@app');
  const page = await browser.get(await linkFor(client, { platform: 'secretive' }));
  const filled = { url: 'https://mine.example', 'app-password': password };
  const more = { ...filled, 'web-url': 'https://evil.example' };
  const refused = await browser.submit(page, 'secret', more);
  t.is(refused.status, 400);
  t.regex(wordsOf(refused), /does not take "web-url"/v);
  t.deepEqual(await channels(), []);
  t.is((await browser.submit(refused, 'secret', filled)).status, 303);
});

test('for a network that asks only once, the page itself asks', async (t) => {
  const { client, browser, code, channels, remoteId } = await stage(world);
  once.codes.set(code, [accountNamed('@ana', remoteId)]);
  const link = await linkFor(client, { platform: 'once' });
  const page = await browser.get(link);
  t.regex(wordsOf(page), /asks for your permission only once/v);
  t.notRegex(wordsOf(page), /asks you to allow it/v);
  const refused = await browser.submit(page, 'begin', { confirmed: '' });
  t.is(refused.status, 400);
  t.regex(wordsOf(refused), /Tick the box/v);
  const leaving = await browser.submit(refused, 'begin', { confirmed: 'yes' });
  await browser.get(answerTo(new URL(refreshOf(leaving)), { code }));
  t.is((await channels()).length, 1);
  t.regex(wordsOf(await browser.get(await linkFor(client))), /Fake asks you to allow it/v);
});

test('a link sends at most twenty requests to servers that its person names', async (t) => {
  const { client, browser } = await stage(world);
  for (const step of ['begin', 'secret']) {
    const page = await browser.get(await linkFor(client, { platform: 'secretive' }));
    const filled = step === 'begin' ? {} : { url: 'https://mine.example', 'app-password': 'away' };
    for (let number = 1; number <= 20; number += 1) {
      t.notRegex(wordsOf(await browser.submit(page, step, filled)), /too often/v);
    }

    const seen = await browser.submit(page, step, filled);
    t.is(seen.status, 410, step);
    t.regex(wordsOf(seen), /tried too often/v);
  }
});

test('a link ends after ten refused secrets', async (t) => {
  const { client, browser, channels } = await stage(world);
  const password = crypto.randomUUID();
  passwords.set(password, '@app');
  const link = await linkFor(client, { platform: 'secretive' });
  const page = await browser.get(link);
  const type = (secret: string) =>
    browser.submit(page, 'secret', { url: 'https://mine.example', 'app-password': secret });
  for (let number = 1; number <= 9; number += 1) {
    t.is((await type('wrong')).status, 400);
  }

  await type('wrong');
  t.regex(
    wordsOf(await browser.get(link)),
    /refused the sign-ins with this link, and it has ended/v,
  );
  t.is((await type(password)).status, 410);
  t.deepEqual(await channels(), []);
});
