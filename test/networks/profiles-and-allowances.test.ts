import test from 'ava';
import type { Allowance } from '../../networks/content-rules.ts';
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

const allowances = async (
  env: Record<string, string> = {},
): Promise<Record<string, Allowance | undefined>> => {
  const networks = Object.entries(await openNetworks(env).load());
  return Object.fromEntries(networks.map(([id, { allowance }]) => [id, allowance]));
};

const part = (kind: 'video' | 'comment', options = {}) => ({ data: { kind, sinceMs: 1 }, options });

test("X and YouTube have an allowance from the operator's settings; 0 turns it off, and other networks have none", async (t) => {
  const { x, youtube, ...others } = await allowances();
  t.like(x, { perDay: 1000, setting: 'PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY' });
  t.like(youtube, { perDay: 5000, setting: 'PUNCTUAL_YOUTUBE_UNITS_PER_WORKSPACE_PER_DAY' });
  t.true(Object.values(others).every((allowance) => allowance === undefined));

  const off = await allowances({
    PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY: '0',
    PUNCTUAL_YOUTUBE_UNITS_PER_WORKSPACE_PER_DAY: '0',
  });
  t.is(off['x'], undefined);
  t.is(off['youtube'], undefined);
  t.throws(() => openNetworks({ PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY: '-1' }), {
    message: /PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY must be a whole number from 0 to /v,
  });
});

test('a video on YouTube costs 100 units, its thumbnail 50 and its first comment 51; a resumed upload costs nothing more', async (t) => {
  const { youtube } = await allowances();
  const thumbnail = { thumbnail: crypto.randomUUID() };
  t.is(youtube?.cost(part('video'), false), 100);
  t.is(youtube?.cost(part('video', thumbnail), false), 150);
  t.is(youtube?.cost(part('video', thumbnail), true), 50);
  t.is(youtube?.cost(part('video'), true), 0);
  t.is(youtube?.cost(part('comment', thumbnail), false), 51);
});
