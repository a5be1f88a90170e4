import type { ExecutionContext } from 'ava';
import { request } from 'undici';
import { newClient } from '../../support/client.ts';
import { picture, video } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { startLibrary } from './support/start-library.ts';
import { linkTo, upload } from './support/library.ts';

const test = needs('postgres');

/** A video of the library, its bytes and its link. */
async function begin(t: ExecutionContext) {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  const bytes = await video('mp4');
  const { body } = await upload(punctual, client, { bytes, fileName: 'clip.mp4' });
  const link = linkTo(punctual, body.media.url);
  return { punctual, client, bytes, link, id: body.media.id as string };
}

const read = async (link: string, init: RequestInit = {}) => {
  const answer = await fetch(link, init);
  return { answer, body: Buffer.from(await answer.arrayBuffer()) };
};

test('a browser gets a file as what it is, and nothing in it may run', async (t) => {
  const { link, bytes } = await begin(t);
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

test('HEAD says the same and sends nothing', async (t) => {
  const { link, bytes } = await begin(t);
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
  test(`a player that asks for ${range} gets just that`, async (t) => {
    const { link, bytes } = await begin(t);
    const [start, end] = expected(bytes.length);
    const { answer, body } = await read(link, { headers: { range } });

    t.is(answer.status, 206);
    t.is(answer.headers.get('content-range'), `bytes ${start}-${end}/${bytes.length}`);
    t.deepEqual(body, bytes.subarray(start, end + 1));
  });
}

for (const range of ['bytes=999999999-', 'bytes=-0']) {
  test(`a player that asks for ${range} hears how long the file is`, async (t) => {
    const { link, bytes } = await begin(t);
    const { answer } = await read(link, { headers: { range } });

    t.is(answer.status, 416);
    t.is(answer.headers.get('content-range'), `bytes */${bytes.length}`);
  });
}

for (const range of ['bytes=0-1,4-5', 'bytes=9-3', 'lines=1-2', 'bytes=a-b', 'bytes=-']) {
  test(`a range that is not understood (${range}) gets the whole`, async (t) => {
    const { link, bytes } = await begin(t);
    const { answer, body } = await read(link, { headers: { range } });

    t.is(answer.status, 200);
    t.is(body.length, bytes.length);
  });
}

test('a browser that has the file is told so, and a part is only sent of the same file', async (t) => {
  const { link, bytes } = await begin(t);
  const etag = (await read(link)).answer.headers.get('etag') ?? '';
  // `fetch` would say on its own that it wants no cached answer.
  const { statusCode } = await request(link, { headers: { 'if-none-match': etag } });
  t.is(statusCode, 304);

  const range = 'bytes=0-1';
  const same = await read(link, { headers: { range, 'if-range': etag } });
  const other = await read(link, { headers: { range, 'if-range': '"another"' } });
  t.is(same.answer.status, 206);
  t.is(other.answer.status, 200);
  t.is(other.body.length, bytes.length);
});

test('the name in a link may be any', async (t) => {
  const { punctual, client } = await begin(t);
  const name = '100% of "Ärger" & #1? <b>.png';
  const { body } = await upload(punctual, client, { bytes: await picture(), fields: { name } });

  t.is(body.media.name, name);
  t.is(new URL(body.media.url).href, body.media.url);
  t.is((await read(linkTo(punctual, body.media.url))).answer.status, 200);
  const broken = linkTo(punctual, body.media.url).replace(/[^\/]*$/v, '%ff');
  t.is((await read(broken)).answer.status, 200);
});

test('an unknown link and that of a deleted file answer alike', async (t) => {
  const { client, link, id } = await begin(t);
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

test('a link takes no other method', async (t) => {
  const { link } = await begin(t);

  t.is((await read(link, { method: 'DELETE' })).answer.status, 405);
});
