import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { env } from '../../support/env.ts';
import { freePort } from '../../support/free-port.ts';
import { mastodonAccount } from '../../support/mastodon-account.ts';
import { needs } from '../../support/needs.ts';
import { egressTo } from '../connection.ts';

const test = needs('gotosocial');

test('a token is connected with the account behind it and the limits of its server', async (t) => {
  const { baseUrl, accessToken, username, client } = await mastodonAccount();
  const login = { baseUrl: `${baseUrl}/`, accessToken: ` ${accessToken}\n` };
  const account = await connectMastodon(egressTo(t, baseUrl), login);

  const { id } = await client.v1.accounts.verifyCredentials();
  t.deepEqual(account, {
    baseUrl,
    remoteId: id,
    handle: `@${username}@${new URL(baseUrl).host}`,
    credentials: { accessToken },
    session: null,
    settings: { maxCharacters: 5000, charactersReservedPerUrl: 25 },
  });
});

test('a token that nobody granted is not connected', async (t) => {
  const baseUrl = env('PUNCTUAL_TEST_GOTOSOCIAL_URL');
  for (const accessToken of ['wrong', 'not a token', '']) {
    const attempt = connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken });
    t.like(await t.throwsAsync(attempt), { code: 'access_lost' });
  }
});

needs('gotosocial', 'pds')('an address without a Mastodon API is not connected', async (t) => {
  const addresses = [env('PUNCTUAL_TEST_PDS_URL'), `http://127.0.0.1:${await freePort()}`];
  for (const baseUrl of addresses) {
    const attempt = connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken: 'any' });
    t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', taken: 'no' });
  }
});
