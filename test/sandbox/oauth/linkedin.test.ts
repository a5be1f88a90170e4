import test from 'ava';
import { openSandbox } from '../open-sandbox.ts';
import {
  askPerson,
  callback,
  callWith,
  control,
  decide,
  redeem,
  refresh,
  signIn,
  type Asking,
  type Tokens,
} from './sign-in.ts';

const scope =
  'openid profile w_member_social r_organization_social w_organization_social rw_organization_admin';
const asking: Asking = {
  authorize: '/linkedin/oauth/v2/authorization',
  token: '/linkedin/oauth/v2/accessToken',
  query: { scope },
  app: { id: 'punctual', secret: 'sandbox' },
  authentication: 'body',
};
const selfServe = { ...asking, query: { scope: 'openid profile w_member_social' } };
const day = 24 * 60 * 60;

const userinfo = (url: string, token: string) => callWith(token, `${url}/linkedin/v2/userinfo`);
const headers = {
  'content-type': 'application/json',
  'linkedin-version': '202610',
  'x-restli-protocol-version': '2.0.0',
};
const organizations = (url: string, token: string) =>
  callWith(token, `${url}/linkedin/rest/organizationAcls?q=roleAssignee`, { headers });
const share = (url: string, token: string, author: string, commentary = 'Hello') =>
  callWith(token, `${url}/linkedin/rest/posts`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      author,
      commentary,
      visibility: 'PUBLIC',
      distribution: {
        feedDistribution: 'MAIN_FEED',
        targetEntities: [],
        thirdPartyDistributionChannels: [],
      },
      lifecycleState: 'PUBLISHED',
      isReshareDisabledByAuthor: false,
    }),
  });
const errorOf = async (answer: Promise<Response>) =>
  ((await (await answer).json()) as { error: string }).error;

test('a member allows the app, which gets a token for sixty days and the member’s identity', async (t) => {
  const { url } = await openSandbox(t);
  const answer = await decide(await askPerson(url, asking), 'Allow', 'second');
  const redeemed = await redeem(url, asking, answer.get('code') ?? '');
  const tokens = (await redeemed.json()) as Tokens;
  const [header = '', claims = ''] = tokens.id_token?.split('.') ?? [];
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as object;

  t.is(answer.get('state'), 'the state');
  t.is(tokens.expires_in, 60 * day);
  t.is(tokens.refresh_token, undefined);
  t.deepEqual(tokens.scope.split(',').toSorted(), scope.split(' ').toSorted());
  t.like(read(header), { alg: 'RS256' });
  t.like(read(claims), { iss: `${url}/linkedin/oauth`, aud: 'punctual', sub: 'sandboxSecond' });
  t.like(await (await userinfo(url, tokens.access_token)).json(), { name: 'Second' });
});

test('the member’s organisations are listed, and only those accept the app’s posts', async (t) => {
  const { url } = await openSandbox(t);
  const [demo, second] = [await signIn(url, asking), await signIn(url, asking, 'second')];
  const listed = async ({ access_token: token }: Tokens) =>
    ((await (await organizations(url, token)).json()) as { elements: object[] }).elements;
  const page = 'urn:li:organization:1000';

  t.deepEqual([(await listed(demo)).length, (await listed(second)).length], [2, 0]);
  t.is((await share(url, demo.access_token, page)).status, 201);
  t.is((await share(url, second.access_token, page)).status, 403);
  t.is((await share(url, second.access_token, 'urn:li:person:sandboxDemo')).status, 403);
  t.is((await share(url, second.access_token, 'urn:li:person:sandboxSecond')).status, 201);
});

test('an app with the public scopes may post for the member, and read nothing', async (t) => {
  const { url } = await openSandbox(t);
  const { access_token: token } = await signIn(url, selfServe);
  t.is((await share(url, token, 'urn:li:person:sandboxDemo')).status, 201);
  t.is((await share(url, token, 'urn:li:organization:1000')).status, 403);
  t.is((await organizations(url, token)).status, 403);
});

test('the app gets an error when a member cancels, and for unknown scopes', async (t) => {
  const { url } = await openSandbox(t);
  const denied = await decide(await askPerson(url, asking), 'Deny');
  t.deepEqual(Object.fromEntries(denied), {
    error: 'user_cancelled_authorize',
    error_description: 'The user cancelled the authorization',
    state: 'the state',
  });
  const response = new URL((await askPerson(url, asking, { scope: 'r_emailaddress' })).url);
  t.is(response.origin + response.pathname, callback);
  t.is(response.searchParams.get('error'), 'unauthorized_scope_error');
  t.is((await askPerson(url, asking, { client_id: 'somebody' })).status, 400);
});

test('a code works only for its app and its address, and LinkedIn does not accept Basic authentication', async (t) => {
  const { url } = await openSandbox(t);
  const code = (await decide(await askPerson(url, asking), 'Allow')).get('code') ?? '';
  const tokenError = (changed: Record<string, string>, as = asking) =>
    errorOf(redeem(url, as, code, changed));

  t.is(await tokenError({}, { ...asking, authentication: 'basic' }), 'invalid_client');
  t.is(
    await tokenError({}, { ...asking, app: { id: 'punctual', secret: 'guessed' } }),
    'invalid_client',
  );
  t.is(await tokenError({ redirect_uri: 'http://127.0.0.1:9/other' }), 'invalid_redirect_uri');
  t.is(await tokenError({ code: 'none' }), 'invalid_request');
  t.is((await redeem(url, asking, code)).status, 200);
  t.is(await tokenError({}), 'invalid_request');
});

test('a partner’s app gets a refresh token, which stays the same for a year', async (t) => {
  let nowMs = Date.now();
  const { url } = await openSandbox(t, { now: () => nowMs });
  await control(url, { platform: 'linkedin', directive: 'refresh-tokens' });
  const first = (await signIn(url, asking)) as Tokens & { refresh_token_expires_in: number };
  const renew = async () => {
    const answer = await refresh(url, asking, first.refresh_token);
    return [answer.status, (await answer.json()) as Record<string, unknown>] as const;
  };
  await fetch(`${url}/control`, { method: 'DELETE' });
  const [, again] = await renew();

  t.is(first.refresh_token_expires_in, 365 * day);
  t.deepEqual(Object.keys(again).toSorted(), [
    'access_token',
    'expires_in',
    'refresh_token',
    'refresh_token_expires_in',
  ]);
  t.is(again['refresh_token'], first.refresh_token);
  nowMs += 360 * day * 1000;
  t.is((await userinfo(url, first.access_token)).status, 401);
  t.like((await renew())[1], { expires_in: 5 * day, refresh_token_expires_in: 5 * day });
  nowMs += 5 * day * 1000;
  t.like(await renew(), [400, { error: 'invalid_grant' }]);
});

test('a grant with other scopes ends the earlier tokens', async (t) => {
  const { url } = await openSandbox(t);
  const [one, two] = [await signIn(url, asking), await signIn(url, asking)];
  t.is((await userinfo(url, one.access_token)).status, 200);
  await signIn(url, selfServe);
  t.is((await userinfo(url, one.access_token)).status, 401);
  t.is((await userinfo(url, two.access_token)).status, 401);
});

test('a refused token gets its reason in LinkedIn’s words', async (t) => {
  const { url } = await openSandbox(t);
  const tokenError = async (token: string) => (await userinfo(url, token)).json();
  const [first, second] = [await signIn(url, asking), await signIn(url, asking, 'second')];

  t.like(await tokenError('none'), { status: 401, serviceErrorCode: 65_600 });
  await control(url, { platform: 'linkedin', directive: 'expire', account: 'demo' });
  t.like(await tokenError(first.access_token), {
    serviceErrorCode: 65_602,
    code: 'EXPIRED_ACCESS_TOKEN',
  });
  t.like(await tokenError(second.access_token), { name: 'Second' });
  await control(url, { platform: 'linkedin', directive: 'revoke', account: 'second' });
  t.like(await tokenError(second.access_token), {
    serviceErrorCode: 65_601,
    code: 'REVOKED_ACCESS_TOKEN',
  });
  t.like(await tokenError('demo'), { name: 'Demo' });
});
