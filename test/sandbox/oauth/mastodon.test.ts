import path from 'node:path';
import test from 'ava';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { openSandbox } from '../open-sandbox.ts';
import {
  askPerson,
  callback,
  callWith,
  challenge,
  control,
  decide,
  post,
  redeem,
  refresh,
  signIn,
  verifier,
  type Asking,
  type Tokens,
} from './sign-in.ts';

const scope = 'read:accounts read:statuses write:statuses write:media';

const register = (url: string, changed: object = {}): Promise<Response> =>
  fetch(`${url}/mastodon/api/v1/apps`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Punctual',
      redirect_uris: [callback, 'https://app.example/cb'],
      scopes: scope,
      website: 'https://app.example',
      ...changed,
    }),
  });

/** An app that was just registered, and its authorization request. */
async function registered(url: string): Promise<Asking> {
  const app = (await (await register(url)).json()) as { client_id: string; client_secret: string };
  return {
    authorize: '/mastodon/oauth/authorize',
    token: '/mastodon/oauth/token',
    query: { scope },
    app: { id: app.client_id, secret: app.client_secret },
    authentication: 'body',
  };
}

const verify = (url: string, token: string) =>
  callWith(token, `${url}/mastodon/api/v1/accounts/verify_credentials`);
const toot = (url: string, token: string, status: string) =>
  callWith(token, `${url}/mastodon/api/v1/statuses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ status }),
  });
const errorOf = async (answer: Promise<Response>) => {
  const { status, error } = {
    status: (await answer).status,
    ...((await (await answer).json()) as { error: string }),
  };
  return [status, error];
};

test('an app registers itself, a person allows it, and its token never expires', async (t) => {
  const { url } = await openSandbox(t, { now: () => Date.UTC(2026, 0, 1) });
  const asking = await registered(url);
  const page = await askPerson(url, asking);
  const answer = await decide(page, 'Allow', 'second');
  const redeemed = await redeem(url, asking, answer.get('code') ?? '');
  const tokens = (await redeemed.json()) as Tokens;

  t.regex(page.text, /Punctual wants to use your account .*@demo@sandbox.*@second@sandbox/v);
  t.deepEqual([...answer.keys()], ['code', 'state']);
  t.deepEqual(Object.keys(tokens), ['access_token', 'token_type', 'scope', 'created_at']);
  t.like(tokens, { token_type: 'Bearer', scope, created_at: Date.UTC(2026, 0, 1) / 1000 });
  t.like(await (await verify(url, tokens.access_token)).json(), { acct: 'second' });
});

test('an app with missing details is not registered', async (t) => {
  const { url } = await openSandbox(t);
  const tokenError = (changed: object) => errorOf(register(url, changed));
  t.deepEqual(await tokenError({ client_name: '' }), [
    422,
    "Validation failed: Application name can't be blank",
  ]);
  t.deepEqual(await tokenError({ redirect_uris: 'callback' }), [
    422,
    'Validation failed: Redirect URI must be an absolute URI.',
  ]);
  t.deepEqual(await tokenError({ redirect_uris: [] }), [
    422,
    "Validation failed: Redirect URI can't be blank",
  ]);
  t.deepEqual(await tokenError({ scopes: 'read everything' }), [
    422,
    "Validation failed: Scopes doesn't match configured on the server.",
  ]);
  t.like(await (await register(url)).json(), {
    redirect_uri: `${callback}\nhttps://app.example/cb`,
    client_secret_expires_at: 0,
  });
});

test('a person is redirected only to the app’s registered address', async (t) => {
  const { url } = await openSandbox(t);
  const asking = await registered(url);
  const page = await askPerson(url, asking, { redirect_uri: `${callback}/other` });
  t.is(page.status, 400);
  t.deepEqual(page.forms, []);
  t.is((await askPerson(url, asking, { client_id: 'punctual' })).status, 400);

  const more = new URL((await askPerson(url, asking, { scope: 'write' })).url);
  t.is(more.origin + more.pathname, callback);
  t.like(Object.fromEntries(more.searchParams), { error: 'invalid_scope', state: 'the state' });
});

test('a challenge requires its verifier, and Basic authentication works like the body', async (t) => {
  const { url } = await openSandbox(t);
  const asking = { ...(await registered(url)), authentication: 'basic' } as const;
  const proven = { code_challenge: challenge, code_challenge_method: 'S256' };
  const code = (await decide(await askPerson(url, asking, proven), 'Allow')).get('code') ?? '';

  t.deepEqual(await errorOf(redeem(url, asking, code)), [400, 'invalid_grant']);
  const wrong = { code_verifier: 'x'.repeat(43) };
  t.deepEqual(await errorOf(redeem(url, asking, code, wrong)), [400, 'invalid_grant']);
  const stranger = { ...asking, app: { ...asking.app, secret: 'guessed' } };
  t.deepEqual(await errorOf(redeem(url, stranger, code)), [401, 'invalid_client']);
  t.is((await redeem(url, asking, code, { code_verifier: verifier })).status, 200);
  t.deepEqual(await errorOf(refresh(url, asking, 'none')), [400, 'unsupported_grant_type']);
});

test('a code works only for the app that asked', async (t) => {
  const { url } = await openSandbox(t);
  const [asking, other] = [await registered(url), await registered(url)];
  const code = (await decide(await askPerson(url, asking), 'Allow')).get('code') ?? '';

  t.deepEqual(await errorOf(redeem(url, other, code)), [400, 'invalid_grant']);
  t.is((await redeem(url, asking, code)).status, 200);
});

test('a second authorization gives the app its existing token', async (t) => {
  const { url } = await openSandbox(t);
  const asking = await registered(url);
  const first = await signIn(url, asking);

  t.is((await signIn(url, asking)).access_token, first.access_token);
  t.not((await signIn(url, asking, 'second')).access_token, first.access_token);
  t.not((await signIn(url, await registered(url))).access_token, first.access_token);
});

test('a refused token gets its reason in Mastodon’s words', async (t) => {
  const { url } = await openSandbox(t);
  const asking = await registered(url);
  const narrow = await signIn(url, { ...asking, query: { scope: 'read:accounts' } });
  const { access_token: token } = await signIn(url, asking);

  t.deepEqual(await errorOf(toot(url, narrow.access_token, 'Hi')), [
    403,
    'This action is outside the authorized scopes',
  ]);
  t.deepEqual(await errorOf(verify(url, 'none')), [401, 'The access token is invalid']);
  await control(url, { platform: 'mastodon', directive: 'expire' });
  t.deepEqual(await errorOf(verify(url, token)), [401, 'The access token expired']);
  const { access_token: next } = await signIn(url, asking);
  await control(url, { platform: 'mastodon', directive: 'revoke' });
  t.deepEqual(await errorOf(verify(url, next)), [401, 'The access token was revoked']);
});

test('an app can revoke its own tokens, but no other’s', async (t) => {
  const { url } = await openSandbox(t);
  const [asking, other] = [await registered(url), await registered(url)];
  const { access_token: token } = await signIn(url, asking);
  const revoke = (as: Asking) => post(`${url}/mastodon/oauth/revoke`, as, { token });

  t.deepEqual(await errorOf(revoke(other)), [403, 'unauthorized_client']);
  t.is((await verify(url, token)).status, 200);
  t.deepEqual(await (await revoke(asking)).json(), {});
  t.is((await verify(url, token)).status, 401);
});

test('each account has its own statuses', async (t) => {
  const { url } = await openSandbox(t);
  const { access_token: token } = await signIn(url, await registered(url), 'second');
  const status = (await (await toot(url, token, 'Mine')).json()) as { id: string; url: string };
  const list = async (id: string) =>
    (await (await fetch(`${url}/mastodon/api/v1/accounts/${id}/statuses`)).json()) as object[];
  const source = `${url}/mastodon/api/v1/statuses/${status.id}/source`;

  t.like(status, { account: { username: 'second', statuses_count: 1 } });
  t.regex(await (await fetch(status.url)).text(), /@second@sandbox/v);
  t.is((await list('100000000000000002')).length, 1);
  t.is((await list('100000000000000001')).length, 0);
  t.is((await callWith(token, source)).status, 200);
  t.is((await callWith('demo', source)).status, 404);
});

test('apps and grants survive a restart', async (t) => {
  const dataFile = path.join(await temporaryFolder(t), 'posts.json');
  const before = await openSandbox(t, { dataFile });
  const asking = await registered(before.url);
  const { access_token: token } = await signIn(before.url, asking);
  await before.close();
  const { url } = await openSandbox(t, { dataFile });

  t.is((await verify(url, token)).status, 200);
  t.is((await signIn(url, asking)).access_token, token);
});

test('the server publishes its OAuth addresses', async (t) => {
  const { url } = await openSandbox(t);
  const response = await fetch(`${url}/mastodon/.well-known/oauth-authorization-server`);
  t.like(await response.json(), {
    authorization_endpoint: `${url}/mastodon/oauth/authorize`,
    app_registration_endpoint: `${url}/mastodon/api/v1/apps`,
    code_challenge_methods_supported: ['S256'],
  });
});
