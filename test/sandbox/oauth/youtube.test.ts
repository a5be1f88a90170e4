import test from 'ava';
import { openBrowser } from '../../support/browser.ts';
import { openSandbox } from '../open-sandbox.ts';
import {
  askPerson,
  callback,
  callWith,
  challenge,
  control,
  decide,
  redeem,
  refresh,
  signIn,
  verifier,
  type Asking,
  type Tokens,
} from './sign-in.ts';

const base = 'https://www.googleapis.com/auth';
const upload = `${base}/youtube.upload`;
const readonly = `${base}/youtube.readonly`;
const asking: Asking = {
  authorize: '/youtube/o/oauth2/v2/auth',
  token: '/youtube/token',
  query: { scope: `${upload} ${readonly}`, access_type: 'offline', prompt: 'consent' },
  app: { id: 'punctual', secret: 'sandbox' },
  authentication: 'body',
};

const channels = (url: string, token: string) =>
  callWith(token, `${url}/youtube/youtube/v3/channels?part=id,snippet&mine=true`);
const errorOf = async (answer: Promise<Response>) => {
  const { error, error_description: tokenError } = (await (await answer).json()) as Record<
    string,
    string
  >;
  return [(await answer).status, error, tokenError];
};

test('a person chooses a channel, and the app may use that one', async (t) => {
  const { url } = await openSandbox(t);
  const page = await askPerson(url, asking);
  const answer = await decide(page, 'Allow', 'second');
  const redeemed = await redeem(url, asking, answer.get('code') ?? '');
  const tokens = (await redeemed.json()) as Tokens;

  t.regex(page.text, /Demo @demo Second @second.*Manage your YouTube videos\./v);
  t.is(answer.get('scope'), `${upload} ${readonly}`);
  t.like(tokens, { token_type: 'Bearer', expires_in: 3600, scope: asking.query['scope'] });
  t.like(await (await channels(url, tokens.access_token)).json(), {
    items: { 0: { id: 'UCsandboxSecondChannel00', snippet: { customUrl: '@second' } }, length: 1 },
  });
});

test('a person may refuse some of the app’s scopes', async (t) => {
  const { url } = await openSandbox(t);
  const page = await askPerson(url, asking);
  const press = async (values: Readonly<Record<string, null>>) =>
    new URL((await openBrowser(callback).press(page, 'Allow', values)).url).searchParams;
  const some = await press({ [`allow-${upload}`]: null });
  const code = some.get('code') ?? '';
  const tokens = (await (await redeem(url, asking, code)).json()) as Tokens;
  const begun = callWith(
    tokens.access_token,
    `${url}/youtube/upload/youtube/v3/videos?part=snippet&uploadType=resumable`,
    { method: 'POST' },
  );

  t.is(tokens.scope, readonly);
  t.is((await channels(url, tokens.access_token)).status, 200);
  t.like(await (await begun).json(), {
    error: {
      code: 403,
      status: 'PERMISSION_DENIED',
      errors: { 0: { reason: 'insufficientPermissions' } },
    },
  });
  const none = await press({ [`allow-${upload}`]: null, [`allow-${readonly}`]: null });
  t.is(none.get('error'), 'access_denied');
});

test('an app gets a refresh token only when it asks for one, and the token stays the same', async (t) => {
  let nowMs = Date.now();
  const { url } = await openSandbox(t, { now: () => nowMs });
  for (const changed of [{ access_type: 'online' }, { prompt: 'select_account' }]) {
    const tokens = await signIn(url, { ...asking, query: { ...asking.query, ...changed } });
    t.is(tokens.refresh_token, undefined);
  }
  const first = await signIn(url, asking);
  nowMs += 3600_000;
  t.is((await channels(url, first.access_token)).status, 401);
  for (let n = 0; n < 2; n += 1) {
    const answer = await refresh(url, asking, first.refresh_token);
    const next = (await answer.json()) as Tokens;
    t.is(next.refresh_token, undefined);
    t.is((await channels(url, next.access_token)).status, 200);
  }
});

test('a verifier is checked if the app sent a challenge', async (t) => {
  const { url } = await openSandbox(t);
  const proven = { code_challenge: challenge, code_challenge_method: 'S256' };
  const code = (await decide(await askPerson(url, asking, proven), 'Allow')).get('code') ?? '';
  const wrong = { code_verifier: 'x'.repeat(43) };
  const elsewhere = { redirect_uri: `${callback}/` };

  t.deepEqual(await errorOf(redeem(url, asking, code, wrong)), [
    400,
    'invalid_grant',
    'Invalid code verifier.',
  ]);
  t.deepEqual(await errorOf(redeem(url, asking, code, elsewhere)), [
    400,
    'redirect_uri_mismatch',
    'Bad Request',
  ]);
  const stranger = { ...asking, app: { id: 'somebody', secret: 'sandbox' } };
  t.deepEqual((await errorOf(redeem(url, stranger, code))).slice(0, 2), [401, 'invalid_client']);
  const basic = { ...asking, authentication: 'basic' } as const;
  t.is((await redeem(url, basic, code, { code_verifier: verifier })).status, 200);
});

test('after a denial the app gets no code, and an invalid request shows an error', async (t) => {
  const { url } = await openSandbox(t);
  t.deepEqual(Object.fromEntries(await decide(await askPerson(url, asking), 'Deny')), {
    error: 'access_denied',
    state: 'the state',
  });
  t.is((await askPerson(url, asking, { scope: `${base}/drive` })).status, 400);
});

test('a revocation ends every token of the account, with Google’s error', async (t) => {
  const { url } = await openSandbox(t);
  const [one, two] = [await signIn(url, asking), await signIn(url, asking)];
  const other = await signIn(url, asking, 'second');
  const revoke = (token: string) =>
    fetch(`${url}/youtube/revoke`, { method: 'POST', body: new URLSearchParams({ token }) });

  t.is((await revoke(one.access_token)).status, 200);
  t.deepEqual(await errorOf(refresh(url, asking, two.refresh_token)), [
    400,
    'invalid_grant',
    'Token has been expired or revoked.',
  ]);
  t.like(await (await channels(url, two.access_token)).json(), {
    error: {
      code: 401,
      status: 'UNAUTHENTICATED',
      errors: { 0: { reason: 'authError', message: 'Invalid Credentials' } },
    },
  });
  t.is((await channels(url, other.access_token)).status, 200);
  t.deepEqual((await errorOf(revoke('none'))).slice(0, 2), [400, 'invalid_token']);
});

test('refreshes fail as control calls say, and the grant survives', async (t) => {
  const { url } = await openSandbox(t);
  const { refresh_token: token } = await signIn(url, asking);
  const spoil = (directive: string) => control(url, { platform: 'youtube', directive, count: 2 });
  const renew = () => refresh(url, asking, token);

  await spoil('refresh-error');
  t.deepEqual([(await renew()).status, (await renew()).status], [500, 500]);
  await spoil('refresh-busy');
  const busy = await renew();
  t.deepEqual([busy.status, busy.headers.get('retry-after')], [429, '5']);
  t.is((await renew()).status, 429);
  await spoil('refresh-silent');
  await t.throwsAsync(renew());
  await t.throwsAsync(renew());
  t.is((await renew()).status, 200);
});
