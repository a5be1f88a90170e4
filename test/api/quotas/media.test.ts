import type { ExecutionContext } from 'ava';
import type { QuotaName } from '../../../domain/quotas.ts';
import { type Client, type Reply } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { filesOf, rowsOf, startLibrary, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import type { Punctual } from '../../support/punctual.ts';
import { ca, fileServer } from '../media/support/file-server.ts';
import { isFull, limit, limited, tally } from './limited.ts';

// In series, because each test checks the folder of the shared library.
const test = needs('postgres').serial;

async function libraryAndServer(t: ExecutionContext) {
  const server = await fileServer(t);
  const bytes = await picture('png');
  const punctual = await startLibrary(t, { ca, allowPorts: [server.port] });
  return { server, punctual, bytes };
}

const shared = beforeTests(needs('postgres'), libraryAndServer);

type Way = {
  readonly title: string;
  /** Adds this file to the library. */
  readonly add: (world: World) => Promise<Reply>;
};

type World = {
  readonly punctual: Punctual;
  readonly client: Client;
  readonly bytes: Buffer;
  readonly urls: (count: number) => string[];
};

async function begin(quotas: Parameters<typeof limited>[1]): Promise<World> {
  const { punctual, server, bytes } = shared();
  const { client } = await limited(punctual, quotas);
  const site = server.newSite(
    Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`/${n}.png`, bytes])),
  );
  const urls = (count: number): string[] =>
    Array.from({ length: count }, (_, n) => site.at(`/${n}.png`));
  return { punctual, client, bytes, urls };
}

const ways: readonly Way[] = [
  { title: 'an upload', add: ({ punctual, client, bytes }) => upload(punctual, client, { bytes }) },
  {
    title: 'a post with a URL',
    add: ({ client, urls }) => client.post('/posts', { body: 'x', media_urls: urls(1) }),
  },
  {
    title: 'an edit with a URL',
    add: async ({ client, urls }) => {
      const { id } = (await client.post('/posts', { body: 'x' })).body.post;
      const reply = await client.patch(`/posts/${id}`, { media_urls: urls(1) });
      return reply.status === 200 ? { ...reply, status: 201 } : reply;
    },
  },
];

const quotasOfFiles: readonly {
  quota: QuotaName & ('files' | 'media_bytes');
  each: () => number;
}[] = [
  { quota: 'files', each: () => 1 },
  { quota: 'media_bytes', each: () => shared().bytes.length },
];

/** Ten concurrent calls may hold all database connections, on a slow machine long enough for a 503. */
async function addUntilAnswered(add: (typeof ways)[number]['add'], world: World) {
  for (;;) {
    const reply = await add(world);
    if (reply.status !== 503) {
      return reply;
    }
  }
}

for (const { quota, each } of quotasOfFiles) {
  for (const { title, add } of ways) {
    test(`${quota}, ${title}: the file that fills the quota is accepted, and the next one is refused and not stored`, async (t) => {
      const world = await begin({ [quota]: 2 * each() });
      const before = (await filesOf(world.punctual)).length;
      t.is((await add(world)).status, 201);
      t.is((await add(world)).status, 201);
      isFull(t, await add(world), quota, 2 * each(), 2 * each());

      t.is((await filesOf(world.punctual)).length, before + 2);
      t.is(await rowsOf(world.punctual, world.client.workspaceId), 2);
    });

    test(`${quota}, ${title}: of ten concurrent files with space for one exactly one is accepted`, async (t) => {
      const world = await begin({ [quota]: 2 * each() });
      const before = (await filesOf(world.punctual)).length;
      t.is((await add(world)).status, 201);

      const replies = await Promise.all(
        Array.from({ length: 10 }, () => addUntilAnswered(add, world)),
      );

      t.deepEqual(tally(replies), { 201: 1, 402: 9 });
      t.is((await filesOf(world.punctual)).length, before + 2);
    });
  }

  test(`${quota}: a deleted file frees its quota, and a lower quota removes no file`, async (t) => {
    const world = await begin({ [quota]: 3 * each() });
    const { client, punctual, bytes } = world;
    const add = () => upload(punctual, client, { bytes });
    const [first, second] = [await add(), await add()];
    await limit(punctual, client, { [quota]: each() });
    isFull(t, await add(), quota, each(), 2 * each());
    t.is((await client.get('/media')).body.media.length, 2);

    t.is((await client.delete(`/media/${first.body.media.id}`)).status, 200);
    isFull(t, await add(), quota, each(), each());
    t.is((await client.delete(`/media/${second.body.media.id}`)).status, 200);
    t.is((await add()).status, 201);
  });

  test(`${quota}: a validation that downloads is refused as the post would be`, async (t) => {
    const world = await begin({ [quota]: 2 * each() });
    const { client, urls } = world;
    const validate = (count: number) =>
      client.post('/posts/validate', { body: 'x', media_urls: urls(count) });

    t.is((await validate(2)).status, 200);
    t.is((await validate(2)).status, 200, 'it stores nothing');
    isFull(t, await validate(3), quota, 2 * each(), 0);
    await client.post('/posts', { body: 'x', media_urls: urls(1) });
    isFull(t, await validate(2), quota, 2 * each(), each());
    t.is((await client.post('/posts/validate', { body: 'x' })).status, 200);
  });
}

test('a post with existing files is accepted when the library is full', async (t) => {
  const { punctual, client, bytes } = await begin({});
  const { id } = (await upload(punctual, client, { bytes })).body.media;
  await limit(punctual, client, { files: 0, media_bytes: 0 });
  t.is((await client.post('/posts', { body: 'x', media_ids: [id] })).status, 201);
});

test('an accepted post with files is replayed when the library is full', async (t) => {
  const { client, urls } = await begin({ files: 1 });
  const post = { body: 'x', media_urls: urls(1) };
  const once = { 'idempotency-key': 'once' };
  t.is((await client.post('/posts', post, once)).status, 201);
  t.is((await client.post('/posts', post, once)).status, 200);
  isFull(t, await client.post('/posts', post), 'files', 1, 1);
});

test('with too little free disk space files are refused, and posts are not', async (t) => {
  const { server, bytes } = shared();
  const site = server.newSite({ '/a.png': bytes });
  // No disk is completely free.
  const punctual = await startLibrary(t, { ca, allowPorts: [server.port], leastFree: 100 });
  const { client } = await limited(punctual, {});
  const withUrl = { body: 'x', media_urls: [site.at('/a.png')] };
  const refusals = [
    await upload(punctual, client, { bytes }),
    await client.post('/posts', withUrl),
    await client.post('/posts/validate', withUrl),
  ];
  for (const { status, body, headers } of refusals) {
    t.is(status, 503);
    t.is(body.code, 'unavailable');
    t.regex(body.error, /disk is nearly full/v);
    t.is(headers.get('retry-after'), '60');
  }

  t.deepEqual(await filesOf(punctual), []);
  t.is((await client.post('/posts', { body: 'x' })).status, 201);
});
