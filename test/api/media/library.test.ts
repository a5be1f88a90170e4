import { request } from 'undici';
import type { Client } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { picture, video } from '../../support/media-files.ts';
import { linkTo, newFilesOf, noTemporal, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';

const test = needs('postgres');
const api = sharedApi(test, { temporalEnv: noTemporal });

const library = async () => ({
  client: await api.newClient(),
  files: await newFilesOf(api.punctual),
});

/** Uploads pictures with these names in order. @returns their ids. */
async function pictures(client: Client, names: readonly string[]) {
  const ids: string[] = [];
  for (const name of names) {
    const { body } = await upload(api.punctual, client, {
      bytes: await picture(),
      fields: { name },
    });
    ids.push(body.media.id);
  }
  return ids;
}

const idsOf = (body: { media: { id: string }[] }): string[] => body.media.map(({ id }) => id);

test('files are listed newest first, page by page, without duplicates', async (t) => {
  const client = await api.newClient();
  const ids = await pictures(client, ['a', 'b', 'c', 'd', 'e']);
  const first = (await client.get('/media?limit=2')).body;
  const second = (await client.get(`/media?limit=2&cursor=${first.next_cursor}`)).body;
  const third = (await client.get(`/media?limit=2&cursor=${second.next_cursor}`)).body;

  t.deepEqual([first, second, third].flatMap(idsOf), ids.toReversed());
  t.is(third.next_cursor, null);
});

test('at most 50 files are listed, and files with equal times are not lost between pages', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  await punctual.orm.em.fork().execute(
    `insert into media_files (id, workspace_id, name, type, size_bytes, storage_key, link_token, created_at, stored_at)
     select gen_random_uuid(), ?, 'copy', 'image/png', 1, n, n, '2027-01-01', now() from generate_series(1, 60) n`,
    [client.workspaceId],
  );
  const first = (await client.get('/media')).body;
  const second = (await client.get(`/media?cursor=${first.next_cursor}`)).body;

  t.is(first.media.length, 50);
  t.is(second.media.length, 10);
  t.is(new Set([...idsOf(first), ...idsOf(second)]).size, 60);
});

test('files can be filtered by kind', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  const [image] = await pictures(client, ['a.png']);
  const { body } = await upload(punctual, client, { bytes: await video('webm') });

  t.deepEqual(idsOf((await client.get('/media?type=image')).body), [image]);
  t.deepEqual(idsOf((await client.get('/media?type=video')).body), [body.media.id]);
});

test('a search finds any part of a name in any case, without wildcards', async (t) => {
  const client = await api.newClient();
  const names = [
    'Harbour at NIGHT.png',
    '100% wool.png',
    'a_b.png',
    String.raw`c\d.png`,
    'ÄRGER.png',
  ];
  const ids = await pictures(client, names);
  const find = async (search: string) =>
    idsOf((await client.get(`/media?search=${encodeURIComponent(search)}`)).body);

  t.deepEqual(await find('at night'), [ids[0]]);
  t.deepEqual(await find('HARBOUR'), [ids[0]]);
  t.deepEqual(await find('0% w'), [ids[1]]);
  t.deepEqual(await find('_'), [ids[2]]);
  t.deepEqual(await find('ärger'), [ids[4]]);
  t.deepEqual(await find('a\u0308rger'), [ids[4]]);
  t.deepEqual(await find('%night'), []);
  t.deepEqual(await find('\\'), []); // The part before a backslash is removed as a folder.
  t.is((await find('')).length, 5);
});

test.serial('a deleted file is gone from the list, by its id and from the disk', async (t) => {
  const { client, files } = await library();
  const [id = '', kept = ''] = await pictures(client, ['a', 'b']);
  t.deepEqual((await client.delete(`/media/${id}`)).body, { ok: true, id });

  t.deepEqual(idsOf((await client.get('/media')).body), [kept]);
  t.is((await client.get(`/media/${id}`)).status, 404);
  t.is((await client.delete(`/media/${id}`)).status, 404);
  t.deepEqual(await files(), [kept]);
});

/** A video of a workspace's library, with its bytes and its link. */
async function newClip() {
  const client = await api.newClient();
  const bytes = await video('mp4');
  const { body } = await upload(api.punctual, client, { bytes, fileName: 'clip.mp4' });
  return { client, bytes, link: linkTo(api.punctual, body.media.url), id: String(body.media.id) };
}

let made: ReturnType<typeof newClip> | undefined;

/** Shared by the tests that only read it. */
const clip = () => (made ??= newClip());

const read = async (link: string, init: RequestInit = {}) => {
  const answer = await fetch(link, init);
  return { answer, body: Buffer.from(await answer.arrayBuffer()) };
};

test('a browser gets a file with its type, and scripts in it cannot run', async (t) => {
  const { link, bytes } = await clip();
  const { answer, body } = await read(link);

  t.is(answer.status, 200);
  t.deepEqual(body, bytes);
  const header = (name: string) => answer.headers.get(name);
  t.is(header('content-type'), 'video/mp4');
  t.is(header('content-length'), String(bytes.length));
  t.is(header('x-content-type-options'), 'nosniff');
  t.is(header('content-disposition'), 'inline');
  t.is(header('accept-ranges'), 'bytes');
  t.regex(header('content-security-policy') ?? '', /default-src 'none';.* sandbox$/v);
  t.is(header('access-control-allow-origin'), '*');
  t.regex(header('cache-control') ?? '', /^private/v);
});

test('HEAD has the same headers and no body', async (t) => {
  const { link, bytes } = await clip();
  const { answer, body } = await read(link, { method: 'HEAD' });

  t.is(answer.status, 200);
  t.is(answer.headers.get('content-length'), String(bytes.length));
  t.is(body.length, 0);
});

const ranges: Readonly<Record<string, (size: number) => [number, number]>> = {
  'bytes=0-0': () => [0, 0],
  'bytes=10-19': () => [10, 19],
  'bytes=100-': (size) => [100, size - 1],
  'bytes=-7': (size) => [size - 7, size - 1],
  'bytes=5-999999999': (size) => [5, size - 1],
  'bytes=-999999999': (size) => [0, size - 1],
};
for (const [range, expected] of Object.entries(ranges)) {
  test(`a player that asks for ${range} gets that range`, async (t) => {
    const { link, bytes } = await clip();
    const [start, end] = expected(bytes.length);
    const { answer, body } = await read(link, { headers: { range } });

    t.is(answer.status, 206);
    t.is(answer.headers.get('content-range'), `bytes ${start}-${end}/${bytes.length}`);
    t.deepEqual(body, bytes.subarray(start, end + 1));
  });
}

for (const range of ['bytes=999999999-', 'bytes=-0']) {
  test(`a player that asks for ${range} gets the size of the file`, async (t) => {
    const { link, bytes } = await clip();
    const { answer, body } = await read(link, { headers: { range } });

    t.is(answer.status, 416);
    t.is(JSON.parse(body.toString()).code, 'invalid_request');
    t.is(answer.headers.get('content-range'), `bytes */${bytes.length}`);
  });
}

for (const range of ['bytes=0-1,4-5', 'bytes=9-3', 'lines=1-2']) {
  test(`an invalid range (${range}) gets the whole file`, async (t) => {
    const { link, bytes } = await clip();
    const { answer, body } = await read(link, { headers: { range } });

    t.is(answer.status, 200);
    t.is(body.length, bytes.length);
  });
}

test('a browser with a cached file gets 304, and a range only of the same file', async (t) => {
  const { link, bytes } = await clip();
  const etag = (await read(link)).answer.headers.get('etag') ?? '';
  // `fetch` would add a header that disables caching.
  const { statusCode } = await request(link, { headers: { 'if-none-match': etag } });
  t.is(statusCode, 304);

  const range = 'bytes=0-1';
  const same = await read(link, { headers: { range, 'if-range': etag } });
  const other = await read(link, { headers: { range, 'if-range': '"another"' } });
  t.is(same.answer.status, 206);
  t.is(other.answer.status, 200);
  t.is(other.body.length, bytes.length);
});

test('the name in a link may be anything', async (t) => {
  const { punctual } = api;
  const client = await api.newClient();
  const name = '100% of "Ärger" & #1? <b>.png';
  const { body } = await upload(punctual, client, { bytes: await picture(), fields: { name } });

  t.is(body.media.name, name);
  t.is(new URL(body.media.url).href, body.media.url);
  t.is((await read(linkTo(punctual, body.media.url))).answer.status, 200);
  const broken = linkTo(punctual, body.media.url).replace(/[^\/]*$/v, '%ff');
  t.is((await read(broken)).answer.status, 200);
});

test('unknown links and links of deleted files are answered alike', async (t) => {
  const { client, link, id } = await newClip();
  const token = new URL(link).pathname.split('/')[2] ?? '';
  const others = [token.slice(1), `${token.slice(1)}!`, token.toUpperCase(), '%00', '..%2f..'];
  for (const other of others) {
    t.is((await read(link.replace(token, other))).answer.status, 404, other);
  }

  await client.delete(`/media/${id}`);
  const { answer, body } = await read(link);
  t.is(answer.status, 404);
  t.is(answer.headers.get('etag'), null);
  t.like(JSON.parse(body.toString()), { code: 'not_found' });
});
