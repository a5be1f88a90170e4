import test from 'ava';
import { openSandbox } from '../open-sandbox.ts';
import { askingX as asking, me, tweet } from './asking-x.ts';
import { control, refresh, signIn, type Tokens } from './sign-in.ts';

test('a text with #sandbox-expire expires its account’s access tokens, and a refresh gets a new one', async (t) => {
  const { url } = await openSandbox(t);
  const [first, other] = [await signIn(url, asking), await signIn(url, asking, 'second')];

  t.is((await tweet(url, first.access_token, 'Late #sandbox-expire')).status, 401);
  t.is((await me(url, first.access_token)).status, 401);
  t.is((await me(url, other.access_token)).status, 200);
  const next = (await (await refresh(url, asking, first.refresh_token)).json()) as Tokens;
  t.is((await tweet(url, next.access_token, 'Late #sandbox-expire')).status, 201);
  t.is((await tweet(url, 'demo', 'For ever #sandbox-expire')).status, 201);
});

test('a text with #sandbox-revoke revokes its account’s grant, until it signs in again', async (t) => {
  const { url } = await openSandbox(t);
  const [first, other] = [await signIn(url, asking), await signIn(url, asking, 'second')];

  t.is((await tweet(url, first.access_token, 'Gone #sandbox-revoke')).status, 401);
  t.is((await me(url, first.access_token)).status, 401);
  t.is((await refresh(url, asking, first.refresh_token)).status, 400);
  t.is((await me(url, other.access_token)).status, 200);
  t.is((await me(url, 'demo')).status, 200);
  const again = await signIn(url, asking);
  t.is((await tweet(url, again.access_token, 'Back')).status, 201);
});

test('a control call ends access like a text, for all accounts or for one', async (t) => {
  const { url } = await openSandbox(t);
  const [first, other] = [await signIn(url, asking), await signIn(url, asking, 'second')];
  const states = async () => [
    (await me(url, first.access_token)).status,
    (await me(url, other.access_token)).status,
    (await me(url, 'demo')).status,
  ];

  await control(url, { platform: 'x', directive: 'expire', account: 'second' });
  t.deepEqual(await states(), [200, 401, 200]);
  await control(url, { platform: 'x', directive: 'expire' });
  t.deepEqual(await states(), [401, 401, 200]);
  const renewed = await refresh(url, asking, first.refresh_token);
  t.is(renewed.status, 200);
  t.is((await refresh(url, asking, other.refresh_token)).status, 200);

  // The directive's name in earlier versions.
  await control(url, { platform: 'x', directive: 'revoked' });
  t.is((await me(url, ((await renewed.json()) as Tokens).access_token)).status, 401);
  t.is((await me(url, 'demo')).status, 401);
  const again = await signIn(url, asking);
  t.is((await me(url, again.access_token)).status, 200);
  t.is((await tweet(url, again.access_token, 'Back')).status, 201);
  await fetch(`${url}/control`, { method: 'DELETE' });
  t.is((await me(url, 'demo')).status, 200);
});

test('a refresh whose answer is lost leaves a spent token', async (t) => {
  const { url } = await openSandbox(t);
  const { refresh_token: token, access_token: access } = await signIn(url, asking);
  await control(url, { platform: 'x', directive: 'refresh-lost' });

  await t.throwsAsync(refresh(url, asking, token));
  t.is((await me(url, access)).status, 200);
  t.is((await refresh(url, asking, token)).status, 400);
  t.is((await me(url, access)).status, 401);
});
