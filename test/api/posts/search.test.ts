import test from 'ava';
import type { ChannelStatus, PostStatus } from '../../../domain/statuses.ts';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { setStatus, storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

type At = (minutes: number) => string;

/** Times in minutes from now. */
function fromNow(): At {
  const nowMs = Date.now();
  return (minutes) => new Date(nowMs + minutes * 60_000).toISOString();
}

/** A workspace with two channels. */
async function workspace() {
  const client = await api.newClient();
  const { punctual } = api;
  const mastodon = await storeChannel(punctual, client.workspaceId);
  const bluesky = await storeChannel(punctual, client.workspaceId, { platform: 'bluesky' });
  return { client, mastodon, bluesky };
}

type Stored = readonly [
  name: string,
  post: object,
  status?: PostStatus,
  channels?: readonly ChannelStatus[],
];

/** Stores posts whose `external_id` is their name. */
async function store(client: Client, posts: readonly Stored[]): Promise<void> {
  for (const [name, post, status, channels] of posts) {
    const reply = await client.post('/posts', { ...post, external_id: name });
    if (status) {
      await setStatus(api.punctual, reply.body.post.id, status, channels);
    }
  }
}

/** The names of the posts in a list. */
async function names(client: Client, query: string): Promise<string> {
  const { posts } = (await client.get(`/posts?${query}`)).body;
  return posts.map((post: { external_id: string }) => post.external_id).join(' ');
}

/** The posts that a query finds, of those in the next test. */
const found = (mastodon: string, at: At): Readonly<Record<string, string>> => ({
  '': 'doubt none part out own thread draft',
  'status=draft': 'draft',
  'status=draft&status=published': 'out draft',
  'outcome=published': 'out',
  'outcome=partial': 'part',
  'outcome=failed': 'none',
  'outcome=unconfirmed': 'doubt',
  'outcome=partial&status=published': '',
  [`channel_id=${mastodon}`]: 'doubt none part out thread',
  'platform=bluesky': 'doubt part out own thread',
  [`channel_id=${mastodon}&platform=bluesky`]: '',
  'platform=youtube': '',
  'tag=Spring': 'thread draft',
  'tag=spring': '',
  'tag=a%26b': 'draft',
  'external_id=part': 'part',
  'q=SPRING': 'out draft',
  'q=is+spring': 'out',
  'q=über': 'draft',
  'q=three+one': 'thread',
  'q=own': 'own',
  'q=%22a%26b%22': '',
  'q=spring&tag=Spring': 'draft',
  'q=spring&outcome=published&platform=bluesky&status=published': 'out',
  [`from=${at(10)}&to=${at(20)}`]: 'none part',
  [`from=${at(10)}&to=${at(20)}&sort=created_at&order=asc`]: 'part none',
  [`from=${at(10)}&status=failed`]: 'doubt none part',
  [`from=${at(-60)}&date_field=published_at`]: 'doubt part out',
  [`to=${at(-1)}&date_field=created_at`]: '',
  'sort=scheduled_at&order=asc': 'out part none doubt thread own',
  'sort=scheduled_at&status=scheduled&platform=bluesky': 'own thread',
  'sort=published_at': 'doubt part out',
  'order=asc&outcome=failed': 'none',
});

test('filters select posts, alone and together', async (t) => {
  const { client, mastodon, bluesky } = await workspace();
  const both = { channel_ids: [mastodon, bluesky] };
  const at = fromNow();
  const on = (minutes: number) => ({ scheduled_at: at(minutes) });
  await store(client, [
    ['draft', { body: 'Über spring', tags: ['Spring', 'a&b'] }],
    ['thread', { thread: ['one', 'two\nthree'], ...both, ...on(60), tags: ['Spring'] }],
    ['own', { body: 'x', channel_ids: [bluesky], channel_bodies: { [bluesky]: 'own' }, ...on(90) }],
    ['out', { body: 'spring is out', ...both, ...on(5) }, 'published', ['published', 'published']],
    ['part', { body: 'x', ...both, ...on(10) }, 'failed', ['published', 'failed']],
    ['none', { body: 'x', channel_ids: [mastodon], ...on(15) }, 'failed', ['failed']],
    ['doubt', { body: 'x', ...both, ...on(20) }, 'failed', ['published', 'unconfirmed']],
  ]);

  for (const [query, expected] of Object.entries(found(mastodon, at))) {
    t.is(await names(client, query), expected, query);
  }

  const { posts } = (await client.get('/posts?sort=scheduled_at&order=asc')).body;
  const outcomes = posts.map((post: { outcome: string | null }) => post.outcome);
  t.deepEqual(outcomes, ['published', 'partial', 'failed', 'unconfirmed', null, null]);
  const other = await workspace();
  for (const query of ['q=spring', 'tag=Spring', 'external_id=out']) {
    t.is(await names(other.client, query), '', query);
  }
});

test('words are found until their text is gone, whoever stored the post', async (t) => {
  const { client, bluesky } = await workspace();
  const post = { body: 'first', channel_ids: [bluesky], channel_bodies: { [bluesky]: 'own' } };
  const created = await client.post('/posts', { ...post, external_id: 'a' });
  const edit = (change: object) => client.patch(`/posts/${created.body.post.id}`, change);
  await edit({ body: 'second' });
  t.deepEqual([await names(client, 'q=first'), await names(client, 'q=second')], ['', 'a']);
  await edit({ thread: ['part'], tags: ['tag'] });
  t.is(await names(client, 'q=part+second+own&tag=tag'), 'a');
  await edit({ thread: null, tags: null });
  t.deepEqual([await names(client, 'q=part'), await names(client, 'tag=tag')], ['', '']);
  await edit({ channel_bodies: { [bluesky]: 'other' } });
  t.deepEqual([await names(client, 'q=own'), await names(client, 'q=other')], ['', 'a']);
  await edit({ channel_ids: [] });
  await edit({ channel_ids: [] });
  t.is(await names(client, 'q=other'), '');

  // A process of the previous version.
  await api.punctual.orm.em.fork().execute(
    `insert into posts (id, workspace_id, body, status, synced_revision, created_at, updated_at)
     values (gen_random_uuid(), ?, 'old writer', 'draft', 1, now(), now())`,
    [client.workspaceId],
  );
  const { posts } = (await client.get('/posts?q=writer')).body;
  t.deepEqual(
    posts.map(({ body, tags, external_id }: Record<string, unknown>) => [body, tags, external_id]),
    [['old writer', [], null]],
  );
});

/** Separators that hid the words beside them while PostgreSQL's parser found the words. */
const separators = `—…”«\u00A0·¿🎉\u3000、（\u200B™_-/'’!`;

/** Texts, and searches that find them. */
const searches: readonly (readonly [body: string, ...found: string[]])[] = [
  ...[...separators].map((one) => [`Alpha${one}Bravo`, 'alpha', 'BRAVO', 'bravo alpha'] as const),
  ['“Spring” is here', 'spring'],
  ['It’s Anna’s launch', 'Anna', 'it’s', "it's", "anna's"],
  ["We're late", 'we’re', "we're", 'weʼre'],
  ['L’été arrive', 'été', 'Été'],
  ['We’re “live” — join us… today🎉', 'today', '🎉today'],
  ['今天发布新产品', '新产品', '今天', '品', '发布 今天'],
  [
    '今日は東京へ行きます。ガレージ',
    '東京',
    '行きます',
    '東京へ行きます',
    'ガレー',
    'ガ'.normalize('NFD'),
  ],
  ['번역이 끝났다 iPhone発売', '번역', 'iphone', '発売', '번역'.normalize('NFD')],
  ['Soirée à Zürich', 'soirée', 'ZÜRICH'],
  ['co\u00ADopera\u00ADtion می\u200Cخواهم', 'cooperation', 'می\u200Cخواهم', 'میخواهم'],
  ['हिन्दी में', 'हिन्दी'],
  ['1️⃣ first ❤️second', '1 first', 'second'],
  [`${'x'.repeat(3000)} end`, `${'x'.repeat(300)}`],
];

test('words are found beside any separator, in either form of Unicode, and parts of Chinese, Japanese and Korean', async (t) => {
  const client = await api.newClient();
  for (const [index, [body, ...queries]] of searches.entries()) {
    for (const form of ['NFC', 'NFD']) {
      await store(client, [[`${index}-${form}`, { body: body.normalize(form) }]]);
    }

    for (const query of queries.flatMap((one) => [one.normalize('NFC'), one.normalize('NFD')])) {
      const shown = (await names(client, `q=${encodeURIComponent(query)}`)).split(' ');
      t.true(shown.includes(`${index}-NFC`) && shown.includes(`${index}-NFD`), `${body}: ${query}`);
    }
  }

  for (const absent of ['京東', '新今', 'alp', 'été spring']) {
    t.is(await names(client, `q=${encodeURIComponent(absent)}`), '', absent);
  }
});

test('tags and external ids are the same in either form of Unicode', async (t) => {
  const client = await api.newClient();
  const [composed, apart] = ['Zürich', 'Zürich'.normalize('NFD')];
  await store(client, [[apart, { body: 'x', tags: [apart] }]]);
  for (const form of [composed, apart]) {
    t.is(await names(client, `tag=${encodeURIComponent(form)}`), composed);
    t.is(await names(client, `external_id=${encodeURIComponent(form)}`), composed);
    const again = { body: 'x', external_id: form };
    t.is((await client.post('/posts', again)).body.code, 'external_id_taken');
    t.like((await client.post('/posts/validate', again)).body, { code: 'external_id_taken' });
  }

  const twice = await client.post('/posts', { body: 'x', tags: [composed, apart] });
  t.regex(twice.body.error, /\/tags\/1 repeats \/tags\/0/v);
});

test('pages in each order have every post once, also when posts have the same time', async (t) => {
  const { client, mastodon } = await workspace();
  const times = [30, 10, 20, 10, 30, 20, 10].map(fromNow());
  await store(
    client,
    times.map((scheduled_at, n) => [
      String(n),
      { body: 'x', channel_ids: [mastodon], scheduled_at, tags: ['t'] },
    ]),
  );
  for (const sort of ['created_at', 'scheduled_at']) {
    for (const order of ['asc', 'desc']) {
      const query = `sort=${sort}&order=${order}&tag=t`;
      const pages: string[] = [];
      let cursor = '';
      do {
        const reply = await client.get(`/posts?${query}&limit=2${cursor && `&cursor=${cursor}`}`);
        pages.push(...reply.body.posts.map((post: { external_id: string }) => post.external_id));
        cursor = reply.body.next_cursor ?? '';
      } while (cursor);
      t.is(pages.join(' '), await names(client, query), query);
      t.is(new Set(pages).size, times.length);
    }
  }
});

test('a parameter that cannot be read is refused with its name and the next step', async (t) => {
  const { client } = await workspace();
  await store(client, [
    ['a', { body: 'x', tags: ['t'] }],
    ['b', { body: 'x', tags: ['t'] }],
  ]);
  const { next_cursor } = (await client.get('/posts?tag=t&limit=1')).body;
  const refused: Readonly<Record<string, RegExp>> = {
    [`cursor=${next_cursor}`]: /^\?cursor is of a list with other filters or another order/v,
    [`tag=t&order=asc&cursor=${next_cursor}`]: /^\?cursor is of a list with other filters/v,
    'cursor=x': /^\?cursor is not a next_cursor of this list/v,
    'q=...': /^\?q must have a word/v,
    'from=2026-05-01': /^\?from must be a time such as/v,
    'to=2026-05-01T09:30:00': /^\?to must be a time such as .* with Z or an offset/v,
    'from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z': /^\?from must be before \?to/v,
    'status=draft&status=gone': /\?status must be one of draft, scheduled/v,
    'outcome=gone': /\?outcome must be one of published, partial/v,
    'sort=likes': /\?sort must be one of created_at/v,
    'channel_id=42': /\?channel_id must be an id/v,
    'tag=a&tag=b': /\?tag must be given once/v,
    'tag=%00': /\?tag must be text/v,
  };
  for (const [query, message] of Object.entries(refused)) {
    const { status, body } = await client.get(`/posts?${query}`);
    t.is(status, 400, query);
    t.is(body.code, 'invalid_request');
    t.regex(body.error, message);
  }
});
