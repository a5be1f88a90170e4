import test from 'ava';
import { createHash } from 'node:crypto';
import { newOperator } from '../../support/operator.ts';
import { accountNamed } from '../../support/pretend-oauth.ts';
import { openBrowser, wordsOf } from './person.ts';
import {
  answerTo,
  connectWorld,
  leaveFrom,
  linkFor,
  rowOf,
  stage,
  tokenIn,
  walk,
} from './world.ts';

const world = connectWorld(test, {
  returnUrls: ['https://app.example/accounts', 'http://127.0.0.1:4000/'],
});
const { fake, many, api } = world;

const branded = connectWorld(test, {
  brand: { name: 'House', color: '#123456', terms_url: 'https://house.example/terms' },
});

test('an answer for another browser connects nothing', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const link = await linkFor(client);
  const back = answerTo(await leaveFrom(browser, link), { code });
  const victim = openBrowser(api.punctual.url);
  await victim.get(link); // It gets its own cookie.
  for (const other of [openBrowser(api.punctual.url), victim]) {
    const seen = await other.get(back);
    t.is(seen.status, 403);
    t.regex(wordsOf(seen), /begun in another browser/v);
    t.false(seen.text.includes(tokenIn(link)));
  }

  t.deepEqual(
    fake.redeemed.filter((one) => one === code),
    [],
  );
  t.is((await browser.get(back)).status, 303, 'the right one goes on');
  t.is((await channels()).length, 1);
});

test('a forged, foreign, missing or repeated state is refused', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  const at = await leaveFrom(browser, await linkFor(client));
  const { redirect_uri: back = '', state = '' } = Object.fromEntries(at.searchParams);
  const states = ['', 'x', 'a'.repeat(43), `${state}x`, state.slice(1), `${state}\u0000`, 'ä', '%'];
  for (const forged of states) {
    const seen = await browser.get(`${back}?${new URLSearchParams({ state: forged, code })}`);
    t.is(seen.status, 400, forged);
  }

  t.is((await browser.get(`${back}?code=${code}`)).status, 400);
  t.is((await browser.get(`${back}?code=${code}&state=x&state=${state}`)).status, 400);
  t.deepEqual(await channels(), []);
  t.is((await browser.get(answerTo(at, { code }))).status, 303);
});

test('the answer of one server is refused at the redirect URI of another', async (t) => {
  const { client, browser, code, channels } = await stage(world);
  many.codes.set(code, [accountNamed('@ana@good.example')]);
  const leave = async (url: string): Promise<URL> =>
    leaveFrom(browser, await linkFor(client, { platform: 'many', url }));
  const good = await leave('https://good.example');
  const evil = await leave('https://evil.example');
  const backOf = (at: URL): string => at.searchParams.get('redirect_uri') ?? '';
  t.not(backOf(good), backOf(evil));
  const single = await leaveFrom(browser, await linkFor(client));
  for (const back of [backOf(evil), backOf(single), `${backOf(good)}x`]) {
    const state = good.searchParams.get('state') ?? '';
    const mixed = await browser.get(`${back}?${new URLSearchParams({ state, code })}`);
    t.is(mixed.status, 400, back);
  }

  t.false(many.redeemed.includes(code));
  t.is((await browser.get(answerTo(good, { code }))).status, 303);
  t.is((await channels()).length, 1);
});

test('a form from another site begins no authorization', async (t) => {
  const { client, browser, code } = await stage(world);
  const link = await linkFor(client);
  const page = await browser.get(link);
  const before = await rowOf(world, link);
  const bare = openBrowser(api.punctual.url);
  const address = `/connect/${tokenIn(link)}`;
  t.regex(wordsOf(await bare.submit(page, 'begin')), /did not send back the cookie/v);
  for (const key of ['', 'x', 'a'.repeat(64)]) {
    await browser.post(address, { step: 'begin', key });
  }

  const otherLink = await browser.get(await linkFor(client));
  const [, key = ''] = /name="key" value="(?<key>[^"]+)"/v.exec(otherLink.text) ?? [];
  await browser.post(address, { step: 'begin', key });
  t.deepEqual(await rowOf(world, link), before);
  t.is((await walk(browser, link, code)).status, 303);
});

test('a return URL that the operator does not list is refused', async (t) => {
  const { client } = await stage(world);
  const refused = [
    'https://app.example.evil.example/accounts',
    'https://app.example@evil.example/accounts',
    'https://user:pass@app.example/accounts',
    'https://app.example:8443/accounts',
    'http://app.example/accounts',
    'https://app.example/accounts-of-mallory',
    'https://app.example/',
    'https://app.example/accounts/../admin',
    'https://app.example/accounts/%2e%2e/admin',
    'https://app.example/accounts/..%2Fadmin',
    'https://app.example/accounts/%252e%252e/admin',
    'https://app.example\\@evil.example/accounts',
    'https://app.example/accounts#token',
    'javascript:alert(1)',
    '//app.example/accounts',
    'http://localhost:4000/',
    'http://127.0.0.1:4001/',
  ];
  for (const url of refused) {
    const answer = await client.post('/channels/connect', { platform: 'fake', return_url: url });
    t.is(answer.status, 400, url);
    t.is(answer.body.details[0].path, '/return_url', url);
  }

  const taken = [
    'https://app.example/accounts',
    'https://APP.example:443/accounts/new?x=1',
    'https://app.example/accounts/a%2Fb..%2Fc',
    'http://127.0.0.1:4000/any/where',
  ];
  for (const url of taken) {
    const answer = await client.post('/channels/connect', { platform: 'fake', return_url: url });
    t.is(answer.status, 201, url);
  }
});

test('names from a network are escaped on the page', async (t) => {
  const handle = `"><script>alert(1)</script><img src=x onerror='alert(2)'>`;
  const { client, browser, code } = await stage(world, { handle });
  const link = await linkFor(client);
  await walk(browser, link, code);
  const page = await browser.get(link);
  t.false(/<script|<img|onerror='/v.test(page.text.replaceAll(/&[a-z#0-9]+;/gv, '_')));
  t.true(wordsOf(page).includes(handle));
  const evil = await api.newClient('<b>"Evil" & Co</b>');
  const shown = await browser.get(await linkFor(evil));
  t.false(shown.text.includes('<b>'));
  t.true(wordsOf(shown).includes('<b>"Evil" & Co</b>'));
});

test('pages run no scripts, cannot be framed or cached, and send no referrer', async (t) => {
  const { client, browser } = await stage(world);
  const link = await linkFor(client);
  const page = await browser.get(link);
  const pages = [
    page,
    await browser.submit(page, 'begin'),
    await browser.get('/connect/callback/fake?state=x'),
    await browser.get(`/connect/${'a'.repeat(32)}`),
  ];
  for (const { headers, text } of pages) {
    const policy = headers.get('content-security-policy') ?? '';
    t.regex(policy, /default-src 'none'.*frame-ancestors 'none'/v);
    t.notRegex(policy, /unsafe|script-src|http:|https:/v);
    t.is(headers.get('cache-control'), 'no-store');
    t.is(headers.get('referrer-policy'), 'no-referrer');
    t.is(headers.get('x-robots-tag'), 'noindex');
    t.notRegex(text, /<script|style=|onclick/v);
    t.regex(text, /<html lang="en">/v);
  }

  const [cookie = '', ...more] = page.headers.getSetCookie();
  t.regex(cookie, /^__Host-punctual-connect=[\w\-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/v);
  t.deepEqual(more, []);
});

test('the pages of a link carry the brand of its workspace, over that of the settings, and load only its logo', async (t) => {
  const { client, browser, code } = await stage(branded);
  const { punctual } = branded.api;
  const operator = await newOperator(punctual);
  const name = `Album "<script>" & 'Co'`;
  const logo = 'https://cdn.album.example/logo.png?a=1&b="';
  const brand = { name, logo_url: logo, color: '#ffee00', privacy_url: 'https://album.example/p' };
  await operator.patch(`/workspaces/${client.workspaceId}`, { brand });
  const link = await linkFor(client);
  const back = answerTo(await leaveFrom(browser, link), { code });
  const pages = [
    await browser.get(link),
    await openBrowser(punctual.url).get(back), // Refused: another browser.
    await browser.submit(await browser.get(link), 'begin'),
  ];
  const used = await linkFor(client);
  await walk(browser, used, code);
  pages.push(await browser.get(used), await openBrowser(punctual.url).get(used));
  const foreign = await leaveFrom(browser, await linkFor(await branded.api.newClient()));
  pages.push(await browser.get(`${used}${foreign.search}`));
  const refused = answerTo(await leaveFrom(browser, link), { error: 'access_denied' });
  await browser.get(refused);
  pages.push(await browser.get(refused)); // Its state is used.
  for (const { headers, text } of pages) {
    const policy = headers.get('content-security-policy') ?? '';
    const [, style = ''] = /<style>(?<style>[^<]*)<\/style>/v.exec(text) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    t.regex(style, /--brand:#ffee00;--on-brand:#000000;/v);
    t.deepEqual(policy.split('; ').slice(0, 3), [
      "default-src 'none'",
      `style-src 'self' 'sha256-${hash}'`,
      'img-src https://cdn.album.example',
    ]);
    t.true(text.includes('src="https://cdn.album.example/logo.png?a=1&amp;b=%22"'));
    t.regex(text, /<title>[^<]* · Album &quot;&lt;script&gt;&quot; &amp; &#39;Co&#39;<\/title>/v);
    t.true(text.includes('<a href="https://album.example/p" rel="noreferrer">Privacy</a>'));
    t.true(text.includes('<a href="https://house.example/terms" rel="noreferrer">Terms</a>'));
    t.notRegex(text, /<script|style=|Punctual|House/v);
  }

  t.regex((await browser.get(`/connect/${'a'.repeat(32)}`)).text, /House/v);
  await operator.patch(`/workspaces/${client.workspaceId}`, { brand: null });
  const plain = await browser.get(await linkFor(client));
  t.regex(plain.text, /· House<\/title>[\s\S]*--on-brand:#ffffff/v);
  t.false(plain.text.includes('<img'));
});
