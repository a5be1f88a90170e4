import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { rules } from '../../../networks/mastodon/rules.ts';
import { env } from '../../support/env.ts';
import { freePort } from '../../support/free-port.ts';
import { mastodonAccount } from '../../support/accounts.ts';
import { needs } from '../../support/needs.ts';
import { egressTo } from '../connection.ts';
import { against, filesOf, image, textOf, times, video } from '../content.ts';

const test = needs('gotosocial');

test('a token is connected with the account behind it and the limits of its server', async (t) => {
  const { baseUrl, accessToken, username, client } = await mastodonAccount();
  const login = { baseUrl: `${baseUrl}/`, accessToken: ` ${accessToken}\n` };
  const account = await connectMastodon(egressTo(t, baseUrl), login);

  const { id } = await client.v1.accounts.verifyCredentials();
  const { configuration } = await client.v2.instance.fetch();
  const typesOfServer = configuration.mediaAttachments.supportedMimeTypes;
  t.true(typesOfServer.includes('image/jpeg') && typesOfServer.includes('audio/mpeg'));
  t.deepEqual(account, {
    baseUrl,
    remoteId: id,
    handle: `@${username}@${new URL(baseUrl).host}`,
    credentials: { accessToken },
    session: null,
    settings: {
      maxCharacters: 5000,
      charactersReservedPerUrl: 25,
      maxMediaAttachments: 6,
      mediaTypes: typesOfServer.filter((type) => !type.startsWith('audio/')),
      maxImageBytes: 40 * 1024 * 1024,
      maxImagePixels: 2_147_483_647,
      maxVideoBytes: 40 * 1024 * 1024,
      maxVideoPixels: 2_147_483_647,
    },
  });
});

test('what a connected server says of its limits is what its posts are judged by', async (t) => {
  const { baseUrl, accessToken } = await mastodonAccount();
  const { settings } = await connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken });
  const server = against(rules, JSON.parse(JSON.stringify(settings)));

  server.takes(t, textOf('x'.repeat(5000)));
  server.takes(t, filesOf(...times(6, image({ sizeBytes: 40 * 1024 * 1024 }))));
  server.takes(t, filesOf(video({ type: 'video/matroska' })));
  for (const refused of [
    textOf('x'.repeat(5001)),
    filesOf(...times(7, image())),
    filesOf(video({ sizeBytes: 40 * 1024 * 1024 + 1 })),
    filesOf(image({ type: 'image/avif' })),
  ]) {
    t.is(rules.judge(refused, settings).errors.length, 1);
  }
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
