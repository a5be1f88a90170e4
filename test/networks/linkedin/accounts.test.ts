import test, { type ExecutionContext } from 'ava';
import { connectLinkedin } from '../../../networks/linkedin/connect.ts';
import { linkedin as entry } from '../../../networks/linkedin/entry.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { egressTo, openConnection } from '../connection.ts';
import { connectBy, loaded } from '../oauth/connect-by.ts';
import { contextFor } from '../oauth/context.ts';
import { startScriptedServer, type Answer, type Asked } from '../oauth/scripted-server.ts';
import { partsOf, publish } from '../publish.ts';
import { connected, linkedin, listed, selfServe, version } from './bench.ts';

test('a member connects by a token, with a name and a permanent id', async (t) => {
  const { account, url } = await connected(t);
  t.deepEqual(account, {
    baseUrl: `${url}/linkedin`,
    remoteId: 'urn:li:person:sandboxDemo',
    handle: 'Demo',
    displayName: 'Demo',
    credentials: { accessToken: 'demo' },
    session: null,
    settings: { isOrganization: false, webUrl: `${url}/linkedin` },
  });
});

test('an organisation’s page connects by its id or URN, and posts as itself', async (t) => {
  for (const organization of ['1000', 'urn:li:organization:1000']) {
    const { account } = await connected(t, { organization });
    t.like(account, { remoteId: 'urn:li:organization:1000', handle: 'demo-page' });
    await publish(linkedin, openConnection(t, account), partsOf('From the page'));
    t.like(await listed(account), [{ author: 'urn:li:organization:1000', visibility: 'PUBLIC' }]);
  }
});

async function refusalOf(t: ExecutionContext, token: string, organization?: string) {
  const { url } = await openSandbox(t);
  const login = { baseUrl: `${url}/linkedin`, accessToken: token, organization, version };
  return t.throwsAsync(connectLinkedin(egressTo(t, url), login), { instanceOf: Error });
}

test('a token that LinkedIn refuses does not connect, and is not in the message', async (t) => {
  const error = await refusalOf(t, 'a-wrong-token');
  t.like(error, { name: 'NetworkError', code: 'access_lost', accepted: 'no' });
  t.false(error?.message.includes('a-wrong-token'));
});

test('a page where the member may not post is refused, with the member’s role', async (t) => {
  const error = await refusalOf(t, 'demo', '1001');
  t.like(error, { code: 'permission_missing' });
  t.regex(
    error?.message ?? '',
    /may not post for urn:li:organization:1001 \(its role there: ANALYST\)/,
  );
  t.like(await refusalOf(t, 'demo', '9999'), { code: 'permission_missing' });
  t.like(await refusalOf(t, selfServe, '1000'), { code: 'permission_missing' });
});

test('an organisation can be named only by an id or a URN', async (t) => {
  for (const name of ['acme', 'urn:li:person:x', '../x', '1 2']) {
    t.like(await refusalOf(t, 'demo', name), { name: 'AppError', code: 'invalid_request' });
  }
});

test('an error names wrong settings, and missing ones default to LinkedIn’s own', (t) => {
  const problemsOf = (env: Record<string, string>): string[] => {
    const problems: string[] = [];
    entry(env, problems);
    return problems;
  };
  t.deepEqual(problemsOf({}), []);
  t.deepEqual(problemsOf({ PUNCTUAL_LINKEDIN_VERSION: '202612' }), []);
  for (const wrong of ['2026', '202613', '202600', 'x', '2026-09']) {
    t.regex(problemsOf({ PUNCTUAL_LINKEDIN_VERSION: wrong })[0] ?? '', /a year and a month/);
  }
  t.is(problemsOf({ PUNCTUAL_LINKEDIN_API_URL: 'nowhere' }).length, 1);
});

const dayMs = 86_400_000;
/** LinkedIn's answer to a self-serve app: without a refresh token and a token type. */
const selfServeAnswer = {
  access_token: 'an-access-token',
  expires_in: 5_184_000,
  scope: 'openid,profile,w_member_social',
};
const forbidden: Answer = {
  status: 403,
  json: {
    status: 403,
    serviceErrorCode: 100,
    code: 'ACCESS_DENIED',
    message: 'Not enough permissions',
  },
};
const member: Answer = { json: { sub: 'abc', name: 'Alice' } };
const organizations: Answer = {
  json: {
    elements: [
      { role: 'ANALYST', organization: 'urn:li:organization:1' },
      { role: 'ADMINISTRATOR', organization: 'urn:li:organization:2' },
      { role: 'CONTENT_ADMINISTRATOR', organizationTarget: 'urn:li:organization:3' },
      { role: 'DIRECT_SPONSORED_CONTENT_POSTER', organization: 'urn:li:organization:2' },
      { role: 'ADMINISTRATOR', organization: 'urn:li:organizationBrand:4' },
    ],
  },
};

type Answers = { readonly token?: Answer; readonly member?: Answer; readonly roles?: Answer };

async function opened(
  t: ExecutionContext,
  told: Answers = {},
  settings: Record<string, string> = {},
) {
  const answers: readonly (readonly [string, Answer])[] = [
    ['/oauth/v2/accessToken', told.token ?? { json: selfServeAnswer }],
    ['/v2/userinfo', told.member ?? member],
    ['/rest/organizationAcls', told.roles ?? forbidden],
    ['/rest/organizations/2', { json: { vanityName: 'acme' } }],
  ];
  const answer = ({ path }: Asked) => answers.find(([begins]) => path.startsWith(begins))?.[1];
  const server = await startScriptedServer(t, (asked) => answer(asked) ?? forbidden);
  const env = {
    PUNCTUAL_LINKEDIN_API_URL: server.url,
    PUNCTUAL_LINKEDIN_CLIENT_ID: 'app-1',
    PUNCTUAL_LINKEDIN_CLIENT_SECRET: 'app-secret',
    ...settings,
  };
  const oauth = await loaded(t, entry(env, []).oauth);
  return { server, oauth, context: contextFor(t, [server.url]) };
}

test('a member connects for 60 days, through an app without PKCE and an authorization header', async (t) => {
  const { server, oauth, context } = await opened(t);
  const { asked, finished } = await connectBy(oauth, context);
  t.is(asked.origin + asked.pathname, `${server.url}/oauth/v2/authorization`);
  t.is(asked.searchParams.get('scope'), 'openid profile w_member_social');
  t.false(asked.searchParams.has('code_challenge'));

  const { grant, accounts } = await finished;
  const [request] = server.asked;
  t.is(request?.headers.authorization, undefined);
  t.like(Object.fromEntries(request?.form ?? []), {
    grant_type: 'authorization_code',
    client_id: 'app-1',
    client_secret: 'app-secret',
    code: 'a-code',
  });
  t.like(grant, { accessToken: 'an-access-token', refreshToken: null });
  t.is(grant.endsAtMs, grant.accessEndsAtMs);
  const leftMs = (grant.endsAtMs ?? 0) - Date.now();
  t.true(leftMs > 59 * dayMs && leftMs <= 60 * dayMs, String(leftMs));
  t.deepEqual(accounts, [
    {
      baseUrl: server.url,
      remoteId: 'urn:li:person:abc',
      handle: 'Alice',
      displayName: 'Alice',
      credentials: {},
      session: null,
      settings: { isOrganization: false, webUrl: server.url },
    },
  ]);
});

test('a partner’s app is authorized until its refresh token expires', async (t) => {
  const partner = {
    ...selfServeAnswer,
    refresh_token: 'a-refresh-token',
    refresh_token_expires_in: 31_536_000,
  };
  const { oauth, context } = await opened(t, { token: { json: partner } });
  const { grant } = await (await connectBy(oauth, context)).finished;
  const leftMs = (grant.endsAtMs ?? 0) - Date.now();
  t.true(leftMs > 364 * dayMs && leftMs <= 365 * dayMs, String(leftMs));
  t.is(grant.refreshToken, 'a-refresh-token');
});

const idsOf = async (t: ExecutionContext, told: Answers) => {
  const { oauth, context } = await opened(t, told);
  const { accounts } = await (await connectBy(oauth, context)).finished;
  return accounts.map(({ remoteId, handle, settings }) => ({ remoteId, handle, settings }));
};

test('a member chooses among the pages where they may post, each listed once', async (t) => {
  const found = await idsOf(t, { roles: organizations });
  t.like(found, [
    { remoteId: 'urn:li:person:abc', settings: { isOrganization: false } },
    { remoteId: 'urn:li:organization:2', handle: 'acme', settings: { isOrganization: true } },
    { remoteId: 'urn:li:organization:3', handle: 'organization 3' },
  ]);
  t.is(found.length, 3);
});

test('an app for pages only connects pages only', async (t) => {
  const found = await idsOf(t, { roles: organizations, member: forbidden });
  t.is(found.map(({ remoteId }) => remoteId).join(), 'urn:li:organization:2,urn:li:organization:3');
});

test('if the app may not post anywhere, the error names the missing permission', async (t) => {
  const { oauth, context } = await opened(t, { member: forbidden });
  const error = await t.throwsAsync((await connectBy(oauth, context)).finished);
  t.like(error, { name: 'OauthError', code: 'no_account' });
  t.regex(error?.message ?? '', /Sign In with LinkedIn using OpenID Connect/v);
});

test('if the pages cannot be read for now, nothing connects without them', async (t) => {
  const away: Answer = { status: 503, json: { status: 503 } };
  for (const told of [{ roles: away }, { member: away }]) {
    const { oauth, context } = await opened(t, told);
    const error = await t.throwsAsync((await connectBy(oauth, context)).finished);
    t.like(error, { name: 'OauthError', code: 'unavailable' });
  }
});

test('each of LinkedIn’s forms of a denial is recognised', async (t) => {
  for (const error of ['access_denied', 'user_cancelled_login', 'user_cancelled_authorize']) {
    const { oauth, context } = await opened(t);
    const { finished } = await connectBy(oauth, context, { error, error_description: 'No.' });
    t.like(await t.throwsAsync(finished), { name: 'OauthError', code: 'denied' });
  }
});

test('a scope that the app does not have is an error for its operator', async (t) => {
  const { oauth, context } = await opened(t);
  const said = {
    error: 'unauthorized_scope_error',
    error_description: 'Scope "x" is not authorized',
  };
  const error = await t.throwsAsync((await connectBy(oauth, context, said)).finished);
  t.like(error, { name: 'OauthError', code: 'misconfigured' });
  t.regex(error?.message ?? '', /Scope "x" is not authorized.*PUNCTUAL_LINKEDIN_CLIENT_ID/v);
});

test('a code that LinkedIn refuses is reported as expired', async (t) => {
  const words =
    'Unable to retrieve access token: appid/redirect uri/code verifier does not match authorization code. Or authorization code expired.';
  const json = { error: 'invalid_request', error_description: words };
  const { oauth, context } = await opened(t, { token: { status: 400, json } });
  const error = await t.throwsAsync((await connectBy(oauth, context)).finished);
  t.like(error, { name: 'OauthError', code: 'expired' });
});

test('the operator can set other scopes, and gets an error for invalid ones', async (t) => {
  const scopes = 'w_organization_social, rw_organization_admin';
  const { oauth, context } = await opened(t, {}, { PUNCTUAL_LINKEDIN_SCOPES: scopes });
  const { asked } = await connectBy(oauth, context);
  t.is(asked.searchParams.get('scope'), 'w_organization_social rw_organization_admin');
  for (const wrong of ['w_member_social;openid', ',']) {
    const problems: string[] = [];
    entry({ PUNCTUAL_LINKEDIN_SCOPES: wrong }, problems);
    t.regex(problems[0] ?? '', /^PUNCTUAL_LINKEDIN_SCOPES must be/v);
  }
  t.deepEqual(entry({}, []).oauth?.missing, [
    'PUNCTUAL_LINKEDIN_CLIENT_ID',
    'PUNCTUAL_LINKEDIN_CLIENT_SECRET',
  ]);
});

test('a check finds whether a member or a page still gives access', async (t) => {
  const { url } = await openSandbox(t);
  const { http } = contextFor(t, [url]);
  const { check } = entry({}, []);
  const checked = (remoteId: string, accessToken = 'demo') =>
    check?.({
      http,
      baseUrl: `${url}/linkedin`,
      remoteId,
      session: null,
      settings: { isOrganization: remoteId.includes(':organization:') },
      credentials: { accessToken },
    });
  const person = { remoteId: 'urn:li:person:sandboxDemo', displayName: 'Demo' };
  t.deepEqual(await checked(person.remoteId), person);
  const page = { remoteId: 'urn:li:organization:1000', displayName: 'Demo Page' };
  t.deepEqual(await checked(page.remoteId), page);
  const [wrong, noRole] = [
    checked(person.remoteId, 'nobodys'),
    checked('urn:li:organization:1001'),
  ];
  t.like(await t.throwsAsync(async () => wrong), { code: 'access_lost' });
  t.like(await t.throwsAsync(async () => noRole), { code: 'permission_missing' });
});
