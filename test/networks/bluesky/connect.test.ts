import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { bluesky } from '../../../networks/bluesky/index.ts';
import { blueskyAccount } from '../../support/accounts.ts';
import { env } from '../../support/env.ts';
import { freePort } from '../../support/free-port.ts';
import { needs } from '../../support/needs.ts';
import { egressTo, openConnection } from '../connection.ts';
import { partsOf, publish } from '../publish.ts';

const test = needs('pds');

test('an app password is connected with the account behind it', async (t) => {
  const { baseUrl, handle, did, appPassword } = await blueskyAccount();
  const login = { baseUrl: `${baseUrl}/`, identifier: `@${handle}`, appPassword };
  const account = await connectBluesky(egressTo(t, baseUrl), login);

  t.like(account, {
    baseUrl,
    remoteId: did,
    handle,
    credentials: { identifier: did, appPassword },
    settings: {},
  });
});

test('a post of an account with an app of its own lives in that app', async (t) => {
  const { baseUrl, handle: identifier, did, appPassword } = await blueskyAccount();
  const login = { baseUrl, identifier, appPassword, webUrl: 'https://app.example/bluesky/' };
  const account = await connectBluesky(egressTo(t, baseUrl), login);
  const { sent } = await publish(bluesky, openConnection(t, account), partsOf('Hi'));

  const rkey = sent[0]?.remoteId.split('/').at(-1);
  t.is(sent[0]?.url, `https://app.example/bluesky/profile/${did}/post/${rkey}`);
});

test('a wrong password or account is not connected', async (t) => {
  const { baseUrl, handle, appPassword } = await blueskyAccount();
  const wrong = [
    { identifier: handle, appPassword: 'abcd-efgh-ijkl-mnop' },
    { identifier: 'nobody-has-this.test', appPassword },
    { identifier: 'not a handle', appPassword },
    { identifier: '', appPassword },
  ];
  for (const login of wrong) {
    const error = await t.throwsAsync(connectBluesky(egressTo(t, baseUrl), { baseUrl, ...login }));
    t.like(error, { code: 'access_lost', taken: 'no' });
    t.false(error?.message.includes(login.appPassword));
  }
});

needs('gotosocial', 'pds')('an address without a PDS is not connected', async (t) => {
  const addresses = [env('PUNCTUAL_TEST_GOTOSOCIAL_URL'), `http://127.0.0.1:${await freePort()}`];
  for (const baseUrl of addresses) {
    const login = { baseUrl, identifier: 'a.test', appPassword: 'any' };
    const attempt = connectBluesky(egressTo(t, baseUrl), login);
    t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', taken: 'no' });
  }
});
