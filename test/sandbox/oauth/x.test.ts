import path from 'node:path';
import test from 'ava';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { openSandbox } from '../open-sandbox.ts';
import { askingX as asking, me } from './asking-x.ts';
import {
  askPerson,
  callback,
  control,
  decide,
  post,
  redeem,
  refresh,
  signIn,
  type Tokens,
} from './sign-in.ts';

const invalid = (description: string) => ({
  error: 'invalid_request',
  error_description: description,
});

test('a person sees the app’s name and its scopes, and allows it', async (t) => {
  const { url } = await openSandbox(t);
  const page = await askPerson(url, asking);
  const answer = await decide(page, 'Allow');
  const tokens = (await (await redeem(url, asking, answer.get('code') ?? '')).json()) as Tokens;

  t.regex(page.text, /Punctual wants to use your account .*Demo @demo.*Second @second/v);
  t.regex(page.text, /Post and repost for you\. tweet\.write/v);
  t.regex(page.text, /You will return to http:\/\/127\.0\.0\.1:9/v);
  t.regex(String(page.headers['content-security-policy']), /form-action 'self' http: https:/v);
  t.notRegex(page.markup, /<script/v);
  t.is(answer.get('state'), 'the state');
  t.like(tokens, { token_type: 'bearer', expires_in: 7200, scope: asking.query['scope'] });
  t.like(await (await me(url, tokens.access_token)).json(), { data: { username: 'demo' } });
});

test('a code works for 30 seconds, for its app, its address and its verifier', async (t) => {
  let nowMs = Date.now();
  const { url } = await openSandbox(t, { now: () => nowMs });
  const answer = await decide(await askPerson(url, asking), 'Allow');
  const code = answer.get('code') ?? '';
  const tokenError = async (changed: Record<string, string>, as = asking) => {
    const refused = await redeem(url, as, code, changed);
    return [refused.status, await refused.json()];
  };

  t.deepEqual(await tokenError({ code_verifier: 'x'.repeat(43) }), [
    400,
    invalid('Value passed for the code verifier did not match the code challenge.'),
  ]);
  t.deepEqual(await tokenError({ redirect_uri: `${callback}/` }), [
    400,
    invalid('Value passed for the redirect uri did not match the uri of the authorization code.'),
  ]);
  t.deepEqual(await tokenError({ code: 'none' }), [
    400,
    invalid('Value passed for the authorization code was invalid.'),
  ]);
  t.deepEqual(await tokenError({ code: '' }), [400, invalid('Missing required parameter [code].')]);
  const noHeader = {
    error: 'unauthorized_client',
    error_description: 'Missing valid authorization header',
  };
  t.deepEqual(await tokenError({}, { ...asking, authentication: 'body' }), [401, noHeader]);
  const stranger = { id: 'punctual', secret: 'guessed' };
  t.deepEqual(await tokenError({}, { ...asking, app: stranger }), [401, noHeader]);
  nowMs += 30_000;
  t.deepEqual(await tokenError({}), [
    400,
    invalid('Value passed for the authorization code was invalid.'),
  ]);
});

test('a second use of a code ends its grant', async (t) => {
  const { url } = await openSandbox(t);
  const code = (await decide(await askPerson(url, asking), 'Allow')).get('code') ?? '';
  const tokens = (await (await redeem(url, asking, code)).json()) as Tokens;
  t.is((await me(url, tokens.access_token)).status, 200);

  t.is((await redeem(url, asking, code)).status, 400);
  t.is((await me(url, tokens.access_token)).status, 401);
  t.is((await refresh(url, asking, tokens.refresh_token)).status, 400);
});

test('a refresh token works once, and its reuse ends all tokens of the grant', async (t) => {
  const { url } = await openSandbox(t);
  const first = await signIn(url, asking);
  const second = (await (await refresh(url, asking, first.refresh_token)).json()) as Tokens;
  t.is((await me(url, second.access_token)).status, 200);
  t.not(second.refresh_token, first.refresh_token);

  const reused = await refresh(url, asking, first.refresh_token);
  t.deepEqual(
    [reused.status, await reused.json()],
    [400, invalid('Value passed for the token was invalid.')],
  );
  t.is((await me(url, second.access_token)).status, 401);
  t.is((await refresh(url, asking, second.refresh_token)).status, 400);
});

test('an access token expires after two hours, or after the time in a control call', async (t) => {
  let nowMs = Date.now();
  const { url } = await openSandbox(t, { now: () => nowMs });
  const long = await signIn(url, asking);
  await control(url, { platform: 'x', directive: 'lifetime', seconds: 3 });
  const short = await signIn(url, asking);
  const states = async () => [
    (await me(url, long.access_token)).status,
    (await me(url, short.access_token)).status,
  ];

  t.is(short.expires_in, 3);
  nowMs += 2999;
  t.deepEqual(await states(), [200, 200]);
  nowMs += 1;
  t.deepEqual(await states(), [200, 401]);
  nowMs += 7200_000 - 3000;
  t.deepEqual(await states(), [401, 401]);
  t.is((await refresh(url, asking, long.refresh_token)).status, 200);
});

test('a revoked token is refused', async (t) => {
  const { url } = await openSandbox(t);
  const revoke = (token: string | undefined) =>
    post(`${url}/x/2/oauth2/revoke`, asking, { token: token ?? '' });
  const tokens = await signIn(url, asking);

  t.deepEqual(await (await revoke(tokens.access_token)).json(), { revoked: true });
  t.is((await me(url, tokens.access_token)).status, 401);
  const next = (await (await refresh(url, asking, tokens.refresh_token)).json()) as Tokens;
  t.is((await revoke(next.refresh_token)).status, 200);
  t.is((await me(url, next.access_token)).status, 401);
  t.is((await revoke('none')).status, 400);
});

test('grants survive a restart', async (t) => {
  const dataFile = path.join(await temporaryFolder(t), 'posts.json');
  const before = await openSandbox(t, { dataFile });
  const tokens = await signIn(before.url, asking, 'second');
  await before.close();
  const { url } = await openSandbox(t, { dataFile });

  t.like(await (await me(url, tokens.access_token)).json(), { data: { username: 'second' } });
  t.is((await refresh(url, asking, tokens.refresh_token)).status, 200);
  t.is((await refresh(url, asking, tokens.refresh_token)).status, 400);
});
