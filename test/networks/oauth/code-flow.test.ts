import test, { type ExecutionContext } from 'ava';
import { NetworkError, type Account } from '../../../networks/network.ts';
import { codeFlowOauth } from '../../../networks/oauth/code-flow.ts';
import { OauthError, type Grant } from '../../../networks/oauth/contract.ts';
import { openNetworks } from '../../../networks/registry.ts';
import { control } from '../../sandbox/oauth/sign-in.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { openBrowser } from '../../support/browser.ts';
import { loaded } from './connect-by.ts';
import { beginning, contextFor, redirectUri, state, registeredApps } from './context.ts';
import { startOidcServer } from './oidc-server.ts';

const account: Account = {
  baseUrl: 'https://network.example',
  remoteId: '1',
  handle: '@alice',
  credentials: { accessToken: 'to be left out' },
  session: null,
  settings: {},
};

async function opened(t: ExecutionContext) {
  const server = await startOidcServer(t);
  const oauth = codeFlowOauth({
    serverFor: () => server.known,
    accountsOf: async () => [account],
  });
  const context = contextFor(t, [server.issuer]);
  const refresh = (grant: Grant) =>
    oauth.refresh({ ...context, baseUrl: account.baseUrl, remoteId: '1', grant });
  return { server, oauth, context, refresh };
}

async function connected(t: ExecutionContext) {
  const { server, oauth, context, refresh } = await opened(t);
  const begun = await oauth.begin(beginning(context));
  const answer = await server.allow(begun.url);
  const finish = { ...context, answer, redirectUri, kept: begun.kept };
  return { oauth, context, refresh, begun, finish, authorized: await oauth.finish(finish) };
}

const failure = async (t: ExecutionContext, attempt: Promise<unknown>) => {
  const error = await t.throwsAsync(attempt, { instanceOf: Error });
  return error as OauthError | NetworkError;
};

test('an account connects by a code, with PKCE and the secret in the header', async (t) => {
  const { begun, authorized } = await connected(t);
  t.like(begun, { state, redirectUri });
  const asked = new URL(begun.url);
  t.is(asked.searchParams.get('code_challenge_method'), 'S256');
  t.true(asked.search.includes('scope=openid%20offline_access%20posts.write'));
  t.deepEqual(authorized.accounts, [{ ...account, credentials: {} }]);
  const { grant } = authorized;
  t.regex(grant.accessToken, /^[\w\-]{20,}$/v);
  t.regex(grant.refreshToken ?? '', /^[\w\-]{20,}$/v);
  const leftMs = (grant.accessEndsAtMs ?? 0) - Date.now();
  t.true(leftMs > 3_500_000 && leftMs <= 3_600_000, String(leftMs));
  t.is(grant.endsAtMs, null);
});

test('each refresh gives a new pair, and a second use of a refresh token ends all of them', async (t) => {
  const { refresh, authorized } = await connected(t);
  const first = authorized.grant;
  const second = await refresh(first);
  t.not(second.accessToken, first.accessToken);
  t.not(second.refreshToken, first.refreshToken);
  const third = await refresh(second);

  t.like(await failure(t, refresh(first)), { name: 'NetworkError', code: 'access_lost' });
  const error = await failure(t, refresh(third));
  t.like(error, { name: 'NetworkError', code: 'access_lost', accepted: 'no' });
  t.regex(error.message, /^The network does not accept the refresh token \(HTTP 400\): "/v);
});

test('a code works once', async (t) => {
  const { oauth, finish } = await connected(t);
  const error = await failure(t, oauth.finish(finish));
  t.like(error, { name: 'OauthError', code: 'expired' });
});

test('a code gives nothing without its own verifier, redirect and state', async (t) => {
  const { server, oauth, context } = await opened(t);
  const begin = async () => {
    const begun = await oauth.begin(beginning(context));
    const answer = await server.allow(begun.url);
    return { ...context, answer, redirectUri, kept: begun.kept };
  };
  const [stolen, own] = [await begin(), await begin()];
  const kept = own.kept;
  t.like(await failure(t, oauth.finish({ ...stolen, kept })), { code: 'expired' });

  const elsewhere = { ...(await begin()), redirectUri: `${redirectUri}/other` };
  t.like(await failure(t, oauth.finish(elsewhere)), { code: 'expired' });

  const forged = new URLSearchParams(own.answer);
  forged.set('state', 'forged');
  t.like(await failure(t, oauth.finish({ ...own, answer: forged })), { code: 'expired' });
  const stateless = new URLSearchParams(own.answer);
  stateless.delete('state');
  t.like(await failure(t, oauth.finish({ ...own, answer: stateless })), { code: 'expired' });
  await t.notThrowsAsync(oauth.finish(own));
});

test('a callback in the name of another server is not used', async (t) => {
  const { server, oauth, context } = await opened(t);
  const begun = await oauth.begin(beginning(context));
  const answer = await server.allow(begun.url);
  const finish = { ...context, redirectUri, kept: begun.kept };
  for (const iss of ['https://other.example', '']) {
    const mixedUp = new URLSearchParams(answer);
    mixedUp.set('iss', iss);
    const error = await failure(t, oauth.finish({ ...finish, answer: mixedUp }));
    t.like(error, { name: 'OauthError', code: 'expired' });
  }

  await t.notThrowsAsync(oauth.finish({ ...finish, answer }));
});

test('a person who denies gets an error that says so', async (t) => {
  const { server, oauth, context } = await opened(t);
  const begun = await oauth.begin(beginning(context));
  const answer = await server.deny(begun.url);
  t.is(answer.get('error'), 'access_denied');
  const error = await failure(
    t,
    oauth.finish({ ...context, answer, redirectUri, kept: begun.kept }),
  );
  t.like(error, { code: 'denied' });
  t.regex(error.message, /^The network says that you declined. Nothing was connected/v);
});

test('an app that the server does not know is an error for its operator, and no message has its secret', async (t) => {
  const { server, oauth, context, refresh } = await opened(t);
  const begun = await oauth.begin(beginning(context));
  const answer = await server.allow(begun.url);
  const clientSecret = 'a-wrong-secret-that-nobody-may-see';
  const wrong = codeFlowOauth({
    serverFor: () => ({ ...server.known, app: { ...server.known.app, clientSecret } }),
    accountsOf: async () => [account],
  });
  const finish = { ...context, answer, redirectUri, kept: begun.kept };
  const refused = await failure(t, wrong.finish(finish));
  t.like(refused, { name: 'OauthError', code: 'misconfigured' });
  t.regex(refused.message, /has to check SOME_SETTINGS\.$/v);

  const { grant } = await oauth.finish(finish);
  const request = { ...context, baseUrl: account.baseUrl, remoteId: '1', grant };
  const lost = await failure(t, wrong.refresh(request));
  t.like(lost, { name: 'NetworkError', code: 'internal' });
  t.regex(lost.message, /has to check SOME_SETTINGS\.$/v);
  for (const { message } of [refused, lost]) {
    t.false(message.includes(clientSecret), message);
  }

  await t.notThrowsAsync(refresh(grant));
});

const networks = openNetworks({});
/** Whether a platform's grants can be renewed. */
const platforms = { x: true, linkedin: false, mastodon: false, youtube: true } as const;

type Decision = { readonly button: 'Allow' | 'Deny'; readonly account?: 'demo' | 'second' };

/** Opens a sandbox, with functions for each step of signing in to it. */
async function openedSandbox(t: ExecutionContext, platform: string) {
  const { url } = await openSandbox(t);
  const context = contextFor(t, [url], { sandboxUrl: url, apps: registeredApps() });
  const oauth = await loaded(t, networks.oauth[platform]);
  const connect = async ({ button, account: chosen = 'demo' }: Decision) => {
    const begun = await oauth.begin(beginning(context));
    const browser = openBrowser(redirectUri);
    const page = await browser.open(begun.url);
    const answer = new URL((await browser.press(page, button, { account: chosen })).url)
      .searchParams;
    return oauth.finish({ ...context, answer, redirectUri, kept: begun.kept });
  };
  return { url, context, oauth, connect };
}

for (const [platform, isRenewed] of Object.entries(platforms)) {
  test(`on the sandbox an account of ${platform} connects, and its token passes a check`, async (t) => {
    const { url, context, connect } = await openedSandbox(t, platform);
    const { grant, accounts } = await connect({ button: 'Allow' });
    const [signedIn] = accounts;
    if (!signedIn) {
      t.fail();
      return;
    }

    t.true(signedIn.baseUrl.startsWith(url), signedIn.baseUrl);
    t.is(grant.refreshToken !== null, isRenewed);
    const { baseUrl, remoteId, displayName, settings } = signedIn;
    const connection = { http: context.http, baseUrl, remoteId, settings, session: null };
    const credentials = { accessToken: grant.accessToken };
    const checked = await networks.checks[platform]?.({ ...connection, credentials });
    t.is(checked?.remoteId, remoteId);
    t.is(checked?.displayName, displayName);
    t.is(displayName, platform === 'bluesky' ? undefined : 'Demo');

    const { connectors } = networks;
    const byToken = Object.entries(connectors).find(([name]) => name === platform)?.[1];
    const demo = await byToken?.connect(context.http, byToken.sandbox(url));
    t.deepEqual({ ...demo, credentials: {} }, { ...signedIn });
  });

  test(`on the sandbox ${platform} has a second account`, async (t) => {
    const { connect } = await openedSandbox(t, platform);
    const [first] = (await connect({ button: 'Allow' })).accounts;
    const [second] = (await connect({ button: 'Allow', account: 'second' })).accounts;
    t.not(first?.remoteId, second?.remoteId);
    t.is(first?.baseUrl, second?.baseUrl);
  });

  test(`on the sandbox a person denies access to ${platform}`, async (t) => {
    const { connect } = await openedSandbox(t, platform);
    const error = await t.throwsAsync(connect({ button: 'Deny' }));
    t.like(error, { name: 'OauthError', code: 'denied' });
  });
}

for (const platform of ['x', 'linkedin', 'youtube']) {
  test(`on the sandbox access to ${platform} is renewed until it is revoked`, async (t) => {
    const { url, context, oauth, connect } = await openedSandbox(t, platform);
    if (platform === 'linkedin') {
      // As for a partner's app.
      await control(url, { platform, directive: 'refresh-tokens' });
    }

    const { grant, accounts } = await connect({ button: 'Allow' });
    const { baseUrl = '', remoteId = '' } = accounts[0] ?? {};
    const refresh = (from: Grant) => oauth.refresh({ ...context, baseUrl, remoteId, grant: from });
    const renewed = await refresh(grant);
    t.not(renewed.accessToken, grant.accessToken);
    await control(url, { platform, directive: 'revoke' });
    t.like(await t.throwsAsync(refresh(renewed)), { name: 'NetworkError', code: 'access_lost' });
  });
}
