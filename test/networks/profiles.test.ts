import test from 'ava';
import { openNetworks, platforms, type Platform } from '../../networks/registry.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { egressTo } from './connection.ts';

const { profileUrls, connectors } = openNetworks({});

const account = (platform: Platform, more: object) =>
  profileUrls[platform]?.({
    baseUrl: 'https://server.example',
    remoteId: '1',
    handle: '@ana',
    settings: {},
    ...more,
  });

test('an account’s page has its public URL', (t) => {
  const did = 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa';
  t.is(account('x', {}), 'https://x.com/ana');
  t.is(
    account('mastodon', { handle: '@ana@social.example' }),
    'https://server.example/@ana',
    'the server, not the domain of its accounts',
  );
  t.is(
    account('mastodon', { handle: '@ana@social.example (server.example)' }),
    'https://server.example/@ana',
  );
  t.is(account('bluesky', { remoteId: did }), `https://bsky.app/profile/${did}`);
  t.is(account('youtube', { remoteId: 'UC1' }), 'https://www.youtube.com/channel/UC1');
  t.is(
    account('linkedin', { remoteId: 'urn:li:organization:7' }),
    'https://www.linkedin.com/company/7/',
  );
  t.is(account('linkedin', { remoteId: 'urn:li:person:abc' }), null, 'no API returns it');
});

for (const platform of platforms) {
  test(`a sandbox account of ${platform} has its page on the sandbox`, async (t) => {
    const { url } = await openSandbox(t);
    const connector = connectors[platform];
    const demo = await connector!.connect(egressTo(t, url), connector!.sandbox(url));
    const page = profileUrls[platform]?.(demo) ?? null;
    if (platform === 'linkedin') {
      t.is(page, null);
      return;
    }

    t.true(page?.startsWith(`${url}/`), String(page));
    const { status } = await fetch(page ?? '');
    t.is(status, 200);
  });
}

test('a sandbox organisation of LinkedIn has its page on the sandbox', async (t) => {
  const { url } = await openSandbox(t);
  const connector = connectors.linkedin!;
  const values = { ...connector.sandbox(url), organization: '1000' };
  const organization = await connector.connect(egressTo(t, url), values);
  t.is(organization.displayName, 'Demo Page');
  const page = profileUrls['linkedin']?.(organization) ?? '';
  t.is(page, `${url}/linkedin/company/1000/`);
  const { status } = await fetch(page);
  t.is(status, 200);
});
