import type { ExecutionContext } from 'ava';
import { createRestAPIClient } from 'masto';
import { mastodon } from '../../../networks/mastodon/entry.ts';
import { openBrowser } from '../../support/browser.ts';
import { env } from '../../support/env.ts';
import { takeGoToSocialAccount } from '../../support/gotosocial-accounts.ts';
import { needs } from '../../support/needs.ts';
import { loaded } from '../oauth/connect-by.ts';
import { beginning, contextFor, redirectUri, registeredApps, state } from '../oauth/context.ts';

const test = needs('gotosocial');

async function opened(t: ExecutionContext) {
  const url = env('PUNCTUAL_TEST_GOTOSOCIAL_URL');
  const apps = registeredApps();
  const context = contextFor(t, [url], { apps });
  const oauth = await loaded(t, mastodon({}, []).oauth);
  const begin = () => oauth.begin(beginning(context, { url }));
  return { url, apps, context, oauth, begin };
}

/** Signs in and allows access, as an account's owner does. @returns the parameters of the callback. */
async function allow(link: string) {
  const { email, password, username } = await takeGoToSocialAccount();
  const browser = openBrowser(redirectUri);
  const signIn = await browser.open(link);
  const asked = await browser.press(signIn, 'Sign in', { username: email, password });
  const { url } = await browser.press(asked, 'Allow');
  return { username, asked: asked.text, answer: new URL(url).searchParams };
}

test('an account connects on its server, and its token publishes', async (t) => {
  const { url, context, oauth, begin } = await opened(t);
  const begun = await begin();
  const { username, asked, answer } = await allow(begun.url);
  t.regex(asked, /Application Punctual would like to perform actions on your behalf/v);
  const finish = { ...context, answer, redirectUri, kept: begun.kept };
  const { grant, accounts } = await oauth.finish(finish);
  t.like(grant, { accessEndsAtMs: null, refreshToken: null, endsAtMs: null });
  t.is(accounts.length, 1);
  const host = new URL(url).host;
  t.like(accounts[0], { baseUrl: url, handle: `@${username}@${host}`, credentials: {} });
  const client = createRestAPIClient({ url, accessToken: grant.accessToken });
  const { account } = await client.v1.statuses.create({ status: 'Connected' });
  t.is(accounts[0]?.remoteId, account.id);

  const { check } = mastodon({}, []);
  const connection = { ...context, baseUrl: url, remoteId: '', session: null, settings: {} };
  const checked = async (accessToken: string) =>
    check?.({ ...connection, credentials: { accessToken } });
  const owner = {
    remoteId: account.id,
    handle: `@${username}@${host}`,
    displayName: username,
  };
  t.deepEqual(await checked(grant.accessToken), owner);
  t.like(await t.throwsAsync(checked('nobodys')), { code: 'access_lost' });

  // The code works only once.
  const again = await t.throwsAsync(oauth.finish(finish));
  t.is(again?.name, 'OauthError');
});

test('a server registers this service once, and again if it does not know the app', async (t) => {
  const { url, apps, begin } = await opened(t);
  const [first, second] = [await begin(), await begin()];
  const idIn = (link: string) => new URL(link).searchParams.get('client_id') ?? '';
  t.is(idIn(second.url), idIn(first.url));
  const kept = { clientId: idIn(first.url), clientSecret: 'another-secret' };
  apps.kept.set(`${url} ${redirectUri}`, kept);
  const third = await begin();
  t.not(idIn(third.url), idIn(first.url));
  t.is(apps.kept.get(`${url} ${redirectUri}`)?.clientId, idIn(third.url));
});

test('a callback with another state connects nothing', async (t) => {
  const { context, oauth, begin } = await opened(t);
  const { kept } = await begin();
  const answer = new URLSearchParams({ state: `${state}x`, code: 'a-code' });
  const finished = oauth.finish({ ...context, answer, redirectUri, kept });
  t.like(await t.throwsAsync(finished), { name: 'OauthError', code: 'expired' });
});
