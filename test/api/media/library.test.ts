import type { ExecutionContext } from 'ava';
import { newClient, type Client } from '../../support/client.ts';
import { picture, video } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import type { Punctual } from '../../support/punctual.ts';
import { startLibrary } from './support/start-library.ts';
import { filesOf, upload } from './support/library.ts';

const test = needs('postgres');

async function begin(t: ExecutionContext) {
  const punctual = await startLibrary(t);
  return { punctual, client: await newClient(punctual) };
}

/** Uploads one picture after the other under these names. @returns their ids. */
async function pictures(punctual: Punctual, client: Client, names: readonly string[]) {
  const ids: string[] = [];
  for (const name of names) {
    const { body } = await upload(punctual, client, {
      bytes: await picture(),
      fields: { name },
    });
    ids.push(body.media.id);
  }
  return ids;
}

const idsOf = (body: { media: { id: string }[] }): string[] => body.media.map(({ id }) => id);

test('files come newest first, page by page, and none twice', async (t) => {
  const { punctual, client } = await begin(t);
  const ids = await pictures(punctual, client, ['a', 'b', 'c', 'd', 'e']);
  const first = (await client.get('/media?limit=2')).body;
  const second = (await client.get(`/media?limit=2&cursor=${first.next_cursor}`)).body;
  const third = (await client.get(`/media?limit=2&cursor=${second.next_cursor}`)).body;

  t.deepEqual([first, second, third].flatMap(idsOf), ids.toReversed());
  t.is(third.next_cursor, null);
});

test('at most 50 files are listed, and those of one moment are not lost between pages', async (t) => {
  const { punctual, client } = await begin(t);
  await punctual.orm.em.fork().execute(
    `insert into media_files (id, workspace_id, name, type, size_bytes, storage_key, link_token, created_at)
     select gen_random_uuid(), ?, 'copy', 'image/png', 1, n, n, '2027-01-01' from generate_series(1, 60) n`,
    [client.workspaceId],
  );
  const first = (await client.get('/media')).body;
  const second = (await client.get(`/media?cursor=${first.next_cursor}`)).body;

  t.is(first.media.length, 50);
  t.is(second.media.length, 10);
  t.is(new Set([...idsOf(first), ...idsOf(second)]).size, 60);
});

test('files may be asked for by kind', async (t) => {
  const { punctual, client } = await begin(t);
  const [image] = await pictures(punctual, client, ['a.png']);
  const { body } = await upload(punctual, client, { bytes: await video('webm') });

  t.deepEqual(idsOf((await client.get('/media?type=image')).body), [image]);
  t.deepEqual(idsOf((await client.get('/media?type=video')).body), [body.media.id]);
});

test('a search finds any part of a name in any case, and takes every sign for itself', async (t) => {
  const { punctual, client } = await begin(t);
  const names = [
    'Harbour at NIGHT.png',
    '100% wool.png',
    'a_b.png',
    String.raw`c\d.png`,
    'ÄRGER.png',
  ];
  const ids = await pictures(punctual, client, names);
  const find = async (search: string) =>
    idsOf((await client.get(`/media?search=${encodeURIComponent(search)}`)).body);

  t.deepEqual(await find('at night'), [ids[0]]);
  t.deepEqual(await find('HARBOUR'), [ids[0]]);
  t.deepEqual(await find('0% w'), [ids[1]]);
  t.deepEqual(await find('_'), [ids[2]]);
  t.deepEqual(await find('ärger'), [ids[4]]);
  t.deepEqual(await find('a\u0308rger'), [ids[4]]);
  t.deepEqual(await find('%night'), []);
  t.deepEqual(await find('\\'), []); // Everything before a backslash is a folder to us.
  t.is((await find('')).length, 5);
});

test('a search and a kind and a page go together', async (t) => {
  const { punctual, client } = await begin(t);
  const ids = await pictures(punctual, client, ['cat 1', 'dog', 'cat 2', 'cat 3']);
  const first = (await client.get('/media?type=image&search=cat&limit=2')).body;
  const rest = await client.get(`/media?type=image&search=cat&limit=2&cursor=${first.next_cursor}`);

  t.deepEqual(idsOf(first), [ids[3], ids[2]]);
  t.deepEqual(idsOf(rest.body), [ids[0]]);
});

const wrong = [
  'type=sound',
  'type=image/png',
  'limit=0',
  'limit=51',
  'limit=x',
  'cursor=x',
  'search=%00',
  'order=asc',
  'type=image&type=video',
];
for (const query of wrong) {
  test(`a list by ?${query} is refused, and the parameter is named`, async (t) => {
    const { client } = await begin(t);
    const { status, body } = await client.get(`/media?${query}`);

    t.is(status, 400);
    t.like(body, { code: 'invalid_request', details: [{ path: `?${query.split('=')[0]}` }] });
  });
}

test('a deleted file is gone: from the list, by its id, and from the disk', async (t) => {
  const { punctual, client } = await begin(t);
  const [id = '', kept = ''] = await pictures(punctual, client, ['a', 'b']);
  t.deepEqual((await client.delete(`/media/${id}`)).body, { ok: true, id });

  t.deepEqual(idsOf((await client.get('/media')).body), [kept]);
  t.is((await client.get(`/media/${id}`)).status, 404);
  t.is((await client.delete(`/media/${id}`)).status, 404);
  t.deepEqual(await filesOf(punctual), [kept]);
});

test("another workspace's file answers as an unknown one does, and is left alone", async (t) => {
  const { punctual, client } = await begin(t);
  const stranger = await newClient(punctual, 'Stranger');
  const [id = ''] = await pictures(punctual, client, ['a']);
  const unknown = '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d';

  for (const call of [stranger.get, stranger.delete]) {
    const [theirs, nobodys] = [await call(`/media/${id}`), await call(`/media/${unknown}`)];
    t.is(theirs.status, 404);
    t.deepEqual({ ...theirs.body, error: theirs.body.error.replace(id, unknown) }, nobodys.body);
  }
  t.deepEqual((await stranger.get('/media')).body.media, []);
  t.is((await client.get(`/media/${id}`)).status, 200);
  t.deepEqual(await filesOf(punctual), [id]);
});
