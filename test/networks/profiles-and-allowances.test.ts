import test from 'ava';
import type { Allowance } from '../../networks/content-rules.ts';
import { openNetworks, platforms, type Platform } from '../../networks/registry.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { egressTo } from './connection.ts';

const { profileUrls, postPages, connectors } = openNetworks({});

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

const did = 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa';
const accounts = {
  x: { handle: '@ana' },
  mastodon: { handle: '@ana@social.example', baseUrl: 'https://social.example' },
  bluesky: { handle: 'ana.example', remoteId: did },
  linkedin: { handle: 'Ana', remoteId: 'urn:li:person:a' },
  youtube: { handle: '@ana', remoteId: 'UC1' },
} as const;
const sandbox = 'http://127.0.0.1:4000';
const atUri = `at://${did}/app.bsky.feed.post/3kabc`;
const comment = 'urn:li:comment:(urn:li:share:7,8)';

/** The id at an address, or `false` if it is refused. The last item is the part of the thread. */
const addresses: Record<keyof typeof accounts, [string, string | null | false, number?][]> = {
  x: [
    ['https://x.com/i/web/status/12', '12'],
    ['https://x.com/Ana/status/12/photo/1?s=20', '12'],
    ['https://mobile.twitter.com/ana/status/12', '12'],
    ['https://x.com/bob/status/12', false],
    ['https://x.com/ana', false],
    ['https://x.com.example/ana/status/12', false],
    [`${sandbox}/x/i/web/status/12`, false],
  ],
  mastodon: [
    ['https://social.example/@ana/12', '12'],
    ['https://social.example/@Ana/statuses/01HX', '01HX'],
    ['https://social.example/users/ana/statuses/12', '12'],
    ['https://social.example/notice/Ab12', 'Ab12'],
    ['https://social.example/objects/0192f0c4', null],
    ['https://social.example/@bob/12', false],
    ['https://social.example/users/bob/statuses/12', false],
    ['https://social.example/@ana', false],
    ['https://social.example:444/@ana/12', false],
    ['https://other.example/@ana/12', false],
  ],
  bluesky: [
    [`https://bsky.app/profile/${did}/post/3kabc`, atUri],
    ['https://bsky.app/profile/Ana.example/post/3kabc', atUri],
    ['https://bsky.app/profile/bob.example/post/3kabc', false],
    ['https://bsky.app/profile/ana.example', false],
    [`https://other.example/profile/${did}/post/3kabc`, false],
  ],
  linkedin: [
    ['https://www.linkedin.com/feed/update/urn:li:share:7/', 'urn:li:share:7'],
    ['https://linkedin.com/feed/update/urn%3Ali%3AugcPost%3A7', 'urn:li:ugcPost:7'],
    ['https://www.linkedin.com/posts/ana_some-words-share-7-x_Y1?utm=1', 'urn:li:share:7'],
    ['https://www.linkedin.com/posts/ana_some-words-activity-7-x_Y1', null],
    ['https://www.linkedin.com/feed/update/urn:li:share:7/', false, 1],
    [
      'https://www.linkedin.com/feed/update/urn:li:share:7/?commentUrn=urn:li:comment:(share:7,8)',
      comment,
      1,
    ],
    ['https://www.linkedin.com/in/ana/', false],
    ['https://x.com/feed/update/urn:li:share:7/', false],
  ],
  youtube: [
    ['https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=1', 'dQw4w9WgXcQ'],
    ['https://m.youtube.com/shorts/dQw4w9WgXcQ', 'dQw4w9WgXcQ'],
    ['https://youtu.be/dQw4w9WgXcQ?si=1', 'dQw4w9WgXcQ'],
    ['https://www.youtube.com/watch?v=dQw4w9WgXcQ&lc=Ugx1', 'Ugx1', 1],
    ['https://www.youtube.com/watch?v=dQw4w9WgXcQ', false, 1],
    ['https://www.youtube.com/@ana', false],
    ['https://vimeo.example/watch?v=dQw4w9WgXcQ', false],
  ],
};
const atSandbox: typeof addresses = {
  x: [[`${sandbox}/x/i/web/status/12`, '12']],
  mastodon: [[`${sandbox}/mastodon/@ana/12`, '12']],
  bluesky: [[`${sandbox}/bluesky/profile/${did}/post/3kabc`, atUri]],
  linkedin: [[`${sandbox}/linkedin/feed/update/urn:li:share:7/`, 'urn:li:share:7']],
  youtube: [[`${sandbox}/youtube/watch?v=v12`, 'v12']],
};

test('the address of a post tells its id, and one of another server, network or account is refused', (t) => {
  for (const platform of platforms) {
    const owner = { baseUrl: '', remoteId: '1', settings: {}, ...accounts[platform] };
    const sandboxed = {
      ...owner,
      baseUrl: sandbox,
      settings: { webUrl: `${sandbox}/${platform}` },
    };
    const others = platforms.filter((other) => other !== platform);
    const foreign = others.flatMap((other) =>
      atSandbox[other].map(([url]) => [url, false] as const),
    );
    for (const [whose, cases] of [
      [owner, addresses[platform]],
      [sandboxed, [...atSandbox[platform], ...foreign]],
    ] as const) {
      for (const [url, id, part = 0] of cases) {
        const found = postPages[platform]?.idAt(whose, new URL(url), part);
        t.deepEqual(found, id === false ? null : { id }, `${platform} ${url}`);
      }
    }

    for (const part of [0, 1]) {
      const example = postPages[platform]?.example(owner, part) ?? '';
      t.is(postPages[platform]?.idAt(owner, new URL(example), part), null, example);
      const filled = new URL(example.replaceAll('{id}', '1'));
      t.truthy(postPages[platform]?.idAt(owner, filled, part)?.id, filled.href);
    }
  }
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
