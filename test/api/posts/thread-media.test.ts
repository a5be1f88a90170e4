import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

type File = { readonly id: string; readonly alt_text: string | null };

/** A workspace with a channel on Mastodon and four files: `a` to `d`. */
async function workspace() {
  const client = await api.newClient();
  const { workspaceId } = client;
  const channel = await storeChannel(api.punctual, workspaceId);
  const names = ['a', 'b', 'c', 'd'] as const;
  const stored = await Promise.all(
    names.map((name) => storeMedia(api.punctual, workspaceId, { name: `${name}.png` })),
  );
  const [a = '', b = '', c = '', d = ''] = stored;
  const letter = (id: string) => names[stored.indexOf(id)] ?? id;
  const described = ({ id, alt_text: text }: File) =>
    letter(id) + (text === null ? '' : `=${text}`);
  /** The files of a post, and of each part: `a`, or `a=alt text`. */
  const filesOf = async (id: string) => {
    const { media, thread_media: parts } = (await client.get(`/posts/${id}`)).body.post;
    return {
      all: media.map(described).join(' '),
      parts: parts?.map((files: File[]) => files.map(described).join(' ')) ?? null,
    };
  };
  const create = async (body: object): Promise<string> =>
    (await client.post('/posts', { channel_ids: [channel], ...body })).body.post.id;
  const edit = async (id: string, body: object) => {
    await client.patch(`/posts/${id}`, body);
    return (await filesOf(id)).parts;
  };
  return { client, channel, a, b, c, d, filesOf, create, edit };
}

test('each part of a thread has its files, and the response keeps the thread as an array of texts', async (t) => {
  const { client, a, b, c, filesOf, create } = await workspace();
  const id = await create({
    thread: [
      { text: 'One', media_ids: [a], alt_texts: { [a]: 'An a' } },
      'Two',
      { text: 'Three', media_ids: [b, c, b], alt_texts: { [c]: 'A c' } },
    ],
  });
  t.deepEqual((await client.get(`/posts/${id}`)).body.post.thread, ['One', 'Two', 'Three']);
  t.deepEqual(await filesOf(id), { all: 'a=An a b c=A c', parts: ['a=An a', '', 'b c=A c'] });
});

test('the same file may be on several parts, with an alt text on each', async (t) => {
  const { a, filesOf, create } = await workspace();
  const part = (text: string, alt: string) => ({ text, media_ids: [a], alt_texts: { [a]: alt } });
  const id = await create({ thread: [part('One', '1'), part('Two', '2')] });
  t.deepEqual(await filesOf(id), { all: 'a=1', parts: ['a=1', 'a=2'] });
});

test('files beside a thread belong to its first part', async (t) => {
  const { a, b, filesOf, create } = await workspace();
  const thread = ['One', { text: 'Two', media_ids: [b] }];
  const id = await create({ thread, media_ids: [a], alt_texts: { [a]: 'An a' } });
  t.deepEqual(await filesOf(id), { all: 'a=An a b', parts: ['a=An a', 'b'] });
});

test('an edit that sends a thread as texts warns of each part that loses its files', async (t) => {
  const { client, a, b, create } = await workspace();
  const id = await create({
    thread: [{ text: '1', media_ids: [a] }, { text: '2', media_ids: [b] }, '3'],
  });

  const { post } = (await client.patch(`/posts/${id}`, { thread: ['1', '2.', '3'] })).body;

  t.like(post.warnings, [{ path: '/thread/1', rule: 'file_missing' }]);
  t.regex(post.warning, /Part 2 no longer has files/v);
  const named = { thread: ['1', { text: '2', media_ids: [b] }, '3'] };
  t.deepEqual((await client.patch(`/posts/${id}`, named)).body.post.warnings, []);
});

type Edit = readonly [
  title: string,
  change: (ids: Readonly<Record<'a' | 'b' | 'c' | 'd', string>>) => object,
  parts: readonly string[] | null,
];
const edits: readonly Edit[] = [
  ['of the time keeps all files', () => ({ scheduled_at: null }), ['a=A', 'b=B', 'c']],
  [
    'of the thread replaces the files of its later parts, and keeps those of the first',
    ({ d }) => ({ thread: ['1', { text: '2', media_ids: [d] }] }),
    ['a=A', 'd'],
  ],
  [
    'of the thread that names files for the first part replaces these too',
    ({ d }) => ({ thread: [{ text: '1', media_ids: [d] }, '2'] }),
    ['d', ''],
  ],
  [
    'of the thread may remove the files of the first part',
    () => ({ thread: [{ text: '1', media_ids: [] }] }),
    [''],
  ],
  [
    'of media_ids replaces the files of the first part only',
    ({ d }) => ({ media_ids: [d] }),
    ['d', 'b=B', 'c'],
  ],
  [
    'of media_ids keeps the alt text of a kept file',
    ({ a, d }) => ({ media_ids: [d, a] }),
    ['d a=A', 'b=B', 'c'],
  ],
  ['of media_ids to null clears them', () => ({ media_ids: null }), ['', 'b=B', 'c']],
  [
    'of alt_texts does not change files',
    ({ a }) => ({ alt_texts: { [a]: 'New' } }),
    ['a=New', 'b=B', 'c'],
  ],
  ['of alt_texts to null clears them', () => ({ alt_texts: null }), ['a', 'b=B', 'c']],
  [
    'that clears the thread removes the files of its later parts',
    () => ({ thread: null, body: 'x' }),
    null,
  ],
];
for (const [title, change, parts] of edits) {
  test(`an edit ${title}`, async (t) => {
    const { a, b, c, d, create, edit, filesOf } = await workspace();
    const id = await create({
      thread: [
        { text: '1', media_ids: [a], alt_texts: { [a]: 'A' } },
        { text: '2', media_ids: [b], alt_texts: { [b]: 'B' } },
        { text: '3', media_ids: [c] },
      ],
    });
    t.deepEqual(await edit(id, change({ a, b, c, d })), parts);
    t.is((await filesOf(id)).all, parts?.filter(Boolean).join(' ') ?? 'a=A');
  });
}

type Wrong = readonly [
  title: string,
  body: (ids: { readonly a: string; readonly b: string }) => object,
  code: string,
  path: string,
];
const wrong: readonly Wrong[] = [
  [
    'an alt text of a file of another part',
    ({ a, b }) => ({
      thread: [
        { text: '1', media_ids: [a] },
        { text: '2', media_ids: [b], alt_texts: { [a]: 'x' } },
      ],
    }),
    'invalid_media_ids',
    '/thread/1/alt_texts/',
  ],
  [
    'an alt text of a file that the post does not have',
    ({ a, b }) => ({ body: 'x', media_ids: [a], alt_texts: { [b]: 'x' } }),
    'invalid_media_ids',
    '/alt_texts/',
  ],
];
for (const [title, body, code, path] of wrong) {
  test(`${title} is refused and named, by each call for posts`, async (t) => {
    const { client, a, b, create } = await workspace();
    const id = await create({ body: 'x' });
    for (const reply of [
      await client.post('/posts', body({ a, b })),
      await client.post('/posts/validate', body({ a, b })),
      await client.patch(`/posts/${id}`, body({ a, b })),
    ]) {
      t.is(reply.status, 400, JSON.stringify(reply.body));
      t.is(reply.body.code, code, reply.body.error);
      t.true(reply.body.details[0].path.startsWith(path), reply.body.details[0].path);
    }
  });
}

test('the files of each part are validated by the network', async (t) => {
  const { client, channel, a, b, c } = await workspace();
  const { punctual } = api;
  const clip = { name: 'clip.mp4', type: 'video/mp4', durationMs: 1000 };
  const film = await storeMedia(punctual, client.workspaceId, clip);
  const ask = async (second: string[]) => {
    const thread = [
      { text: '1', media_ids: [a, b, c] },
      { text: '2', media_ids: second },
    ];
    return (await client.post('/posts/validate', { thread, channel_ids: [channel] })).body;
  };
  t.true((await ask([film])).valid);
  const thread = [{ media_ids: [a] }];
  const one = await client.post('/posts/validate', { thread, channel_ids: [channel] });
  t.deepEqual(one.body.channels[0].warnings, []);
  const { valid, channels } = await ask([film, a]);
  t.false(valid);
  t.regex(channels[0].errors[0].message, /^Part 2: .*1 image and 1 video\.$/v);
  t.is(channels[0].errors[0].path, '/thread/1/media_ids');
});

test('a network without threads gets the files of all parts, without duplicates', async (t) => {
  const { client, a, b } = await workspace();
  const account = { platform: 'linkedin', handle: 'Ana' } as const;
  const linkedin = await storeChannel(api.punctual, client.workspaceId, account);
  const film = await storeMedia(api.punctual, client.workspaceId, {
    type: 'video/mp4',
    sizeBytes: 100_000,
    durationMs: 5000,
  });
  const ask = async (...second: string[]) => {
    const thread = [
      { text: '1', media_ids: [a, b] },
      { text: '2', media_ids: second },
    ];
    return (await client.post('/posts/validate', { thread, channel_ids: [linkedin] })).body;
  };
  t.true((await ask(a)).valid);
  const { channels } = await ask(a, film);
  t.regex(channels[0].errors[0].message, /there are 2 images and 1 video\.$/v);
});
