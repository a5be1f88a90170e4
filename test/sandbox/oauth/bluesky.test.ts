import test, { type ExecutionContext } from 'ava';
import { credentialsOf } from '../../../services/channels/grants.ts';
import { blueskyNetwork } from '../../../networks/bluesky/adapter.ts';
import { checkAccount } from '../../../networks/bluesky/connect.ts';
import { blueskyOauth } from '../../../networks/bluesky/oauth/oauth.ts';
import type { Account } from '../../../networks/network.ts';
import type { Grant } from '../../../networks/oauth/contract.ts';
import { openConnection } from '../../networks/connection.ts';
import { pictureFile } from '../../networks/files.ts';
import { beginning, contextFor } from '../../networks/oauth/context.ts';
import { partsOf, partsWith, publish } from '../../networks/publish.ts';
import { openBrowser } from '../../support/browser.ts';
import { openSandbox } from '../open-sandbox.ts';
import { control } from './sign-in.ts';

const nowhere = 'https://nowhere.invalid';
const oauth = blueskyOauth({ plcUrl: nowhere, resolverUrl: nowhere });
const loopback = 'http://127.0.0.1:9';

/** Opens a sandbox, with functions for each step of signing in to it. */
async function opened(t: ExecutionContext, publicUrl = loopback) {
  const { url } = await openSandbox(t);
  const context = contextFor(t, [url], { sandboxUrl: url, publicUrl });
  const redirectUri = `${publicUrl}/connect/callback/bluesky`;
  const begin = (handle = 'demo.sandbox.test') =>
    oauth.begin({ ...beginning(context, { handle }), redirectUriFor: () => redirectUri });
  const connect = async (
    button: 'Allow' | 'Deny' = 'Allow',
    choice: object = {},
    handle?: string,
  ) => {
    const begun = await begin(handle);
    const browser = openBrowser(redirectUri);
    const page = await browser.open(begun.url);
    const answer = new URL((await browser.press(page, button, { ...choice })).url).searchParams;
    return oauth.finish({ ...context, answer, redirectUri, kept: begun.kept });
  };
  const refresh = (grant: Grant) => {
    const of = { baseUrl: url, remoteId: 'did:plc:punctualsandboxdemo22222' };
    return oauth.refresh({ ...context, ...of, grant });
  };
  return { url, begin, connect, refresh };
}

function connectionOf(t: ExecutionContext, account: Account | undefined, grant: Grant) {
  if (!account) {
    throw new Error('No account was connected.');
  }

  return openConnection(t, { ...account, credentials: credentialsOf(grant) });
}

for (const [publicUrl, handle] of [
  [loopback, 'demo.sandbox.test'],
  ['https://punctual.example.com', 'demo.sandbox.test'],
  [loopback, 'second.sandbox.test'],
] as const) {
  test(`from ${publicUrl} ${handle} connects and posts, with images and threads`, async (t) => {
    const { url, connect } = await opened(t, publicUrl);
    const { grant, accounts } = await connect('Allow', {}, handle);
    const connection = connectionOf(t, accounts[0], grant);

    t.is(connection.baseUrl, url);
    t.deepEqual(await checkAccount(connection), { remoteId: connection.remoteId });
    const { sent } = await publish(blueskyNetwork, connection, partsOf('One', 'Two'));
    const parts = partsWith([await pictureFile()], 'A picture');
    const pictures = await publish(blueskyNetwork, connection, parts);
    for (const { url: live } of [...sent, ...pictures.sent]) {
      t.true(live.startsWith(`${url}/bluesky/profile/`), live);
      t.is((await fetch(live)).status, 200);
    }
  });
}

test('a refresh token works once: its second use ends the session', async (t) => {
  const { connect, refresh } = await opened(t);
  const { grant } = await connect();
  const next = await refresh(grant);

  t.not(next.refreshToken, grant.refreshToken);
  t.like(await t.throwsAsync(refresh(grant)), { code: 'access_lost' });
  t.like(await t.throwsAsync(refresh(next)), { code: 'access_lost' });
});

test('after an expired token a refresh works, and after a revoked session only a new sign-in', async (t) => {
  const { url, connect, refresh } = await opened(t);
  const { grant, accounts } = await connect();
  const post = (by: Grant) =>
    publish(blueskyNetwork, connectionOf(t, accounts[0], by), partsOf(`Hi ${crypto.randomUUID()}`));

  await control(url, { platform: 'bluesky', directive: 'expire' });
  t.like(await t.throwsAsync(post(grant)), { code: 'access_lost', accepted: 'no' });
  const next = await refresh(grant);
  t.is((await post(next)).sent.length, 1);

  await control(url, { platform: 'bluesky', directive: 'revoke' });
  t.like(await t.throwsAsync(post(next)), { code: 'access_lost', accepted: 'no' });
  t.like(await t.throwsAsync(refresh(next)), { code: 'access_lost' });
});
