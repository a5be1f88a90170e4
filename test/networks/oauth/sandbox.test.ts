import test, { type ExecutionContext } from 'ava';
import type { Grant } from '../../../networks/oauth/contract.ts';
import { openNetworks } from '../../../networks/registry.ts';
import { openBrowser } from '../../support/browser.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { control } from '../../sandbox/oauth/sign-in.ts';
import { loaded } from './connect-by.ts';
import { beginning, contextFor, redirectUri, registeredApps } from './context.ts';

const networks = openNetworks({});
/** Whether a platform's grants can be renewed. */
const platforms = { x: true, linkedin: false, mastodon: false, youtube: true } as const;

type Decision = { readonly button: 'Allow' | 'Deny'; readonly account?: 'demo' | 'second' };

/** Opens a sandbox, with functions for each step of signing in to it. */
async function opened(t: ExecutionContext, platform: string) {
  const { url } = await openSandbox(t);
  const context = contextFor(t, [url], { sandboxUrl: url, apps: registeredApps() });
  const oauth = await loaded(t, networks.oauth[platform]);
  const connect = async ({ button, account = 'demo' }: Decision) => {
    const begun = await oauth.begin(beginning(context));
    const browser = openBrowser(redirectUri);
    const page = await browser.open(begun.url);
    const answer = new URL((await browser.press(page, button, { account })).url).searchParams;
    return oauth.finish({ ...context, answer, redirectUri, kept: begun.kept });
  };
  return { url, context, oauth, connect };
}

for (const [platform, isRenewed] of Object.entries(platforms)) {
  test(`on the sandbox an account of ${platform} connects, and its token passes a check`, async (t) => {
    const { url, context, connect } = await opened(t, platform);
    const { grant, accounts } = await connect({ button: 'Allow' });
    const [account] = accounts;
    if (!account) {
      t.fail();
      return;
    }

    t.true(account.baseUrl.startsWith(url), account.baseUrl);
    t.is(grant.refreshToken !== null, isRenewed);
    const { baseUrl, remoteId, displayName, settings } = account;
    const connection = { http: context.http, baseUrl, remoteId, settings, session: null };
    const credentials = { accessToken: grant.accessToken };
    const checked = await networks.checks[platform]?.({ ...connection, credentials });
    t.is(checked?.remoteId, remoteId);
    t.is(checked?.displayName, displayName);
    t.is(displayName, platform === 'bluesky' ? undefined : 'Demo');

    const { connectors } = networks;
    const byToken = Object.entries(connectors).find(([name]) => name === platform)?.[1];
    const demo = await byToken?.connect(context.http, byToken.sandbox(url));
    t.deepEqual({ ...demo, credentials: {} }, { ...account });
  });

  test(`on the sandbox ${platform} has a second account`, async (t) => {
    const { connect } = await opened(t, platform);
    const [first] = (await connect({ button: 'Allow' })).accounts;
    const [second] = (await connect({ button: 'Allow', account: 'second' })).accounts;
    t.not(first?.remoteId, second?.remoteId);
    t.is(first?.baseUrl, second?.baseUrl);
  });

  test(`on the sandbox a person denies access to ${platform}`, async (t) => {
    const { connect } = await opened(t, platform);
    const error = await t.throwsAsync(connect({ button: 'Deny' }));
    t.like(error, { name: 'OauthError', code: 'denied' });
  });
}

for (const platform of ['x', 'linkedin', 'youtube']) {
  test(`on the sandbox access to ${platform} is renewed until it is revoked`, async (t) => {
    const { url, context, oauth, connect } = await opened(t, platform);
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

test("on the sandbox a second use of X's refresh token ends the newer one", async (t) => {
  const { context, oauth, connect } = await opened(t, 'x');
  const { grant, accounts } = await connect({ button: 'Allow' });
  const { baseUrl = '', remoteId = '' } = accounts[0] ?? {};
  const refresh = (from: Grant) => oauth.refresh({ ...context, baseUrl, remoteId, grant: from });
  const renewed = await refresh(grant);
  t.like(await t.throwsAsync(refresh(grant)), { code: 'access_lost' });
  t.like(await t.throwsAsync(refresh(renewed)), { code: 'access_lost' });
});

test('on the sandbox a member of LinkedIn chooses among their account and a page', async (t) => {
  const { connect } = await opened(t, 'linkedin');
  const { accounts } = await connect({ button: 'Allow' });
  t.deepEqual(
    accounts.map(({ handle }) => handle),
    ['Demo', 'demo-page'],
  );
});
