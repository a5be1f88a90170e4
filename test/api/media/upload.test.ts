import type { ExecutionContext } from 'ava';
import { newClient } from '../../support/client.ts';
import { picture, video } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { startLibrary } from './support/start-library.ts';
import { filesOf, linkTo, post, rowsOf, upload } from './support/library.ts';

const tests = needs('postgres');

async function begin(t: ExecutionContext) {
  const punctual = await startLibrary(t);
  return { punctual, client: await newClient(punctual) };
}

tests('an uploaded picture is in the library, with what its bytes say of it', async (t) => {
  const { punctual, client } = await begin(t);
  const bytes = await picture('jpeg', { width: 40, height: 30 });
  const { status, headers, body } = await upload(punctual, client, { bytes, fileName: 'a.jpg' });

  t.is(status, 201);
  t.is(headers.get('location'), `/api/v1/media/${body.media.id}`);
  t.like(body.media, {
    type: 'image/jpeg',
    name: 'a.jpg',
    size_bytes: bytes.length,
    width: 40,
    height: 30,
    duration_ms: null,
  });
  t.deepEqual((await client.get(`/media/${body.media.id}`)).body, body);
  t.deepEqual((await client.get('/media')).body, { media: [body.media], next_cursor: null });
  t.deepEqual(await filesOf(punctual), [body.media.id]);
});

tests('an uploaded video has a length', async (t) => {
  const { punctual, client } = await begin(t);
  const bytes = await video('mp4');
  const { body } = await upload(punctual, client, { bytes, fileName: 'a.mp4' });

  t.like(body.media, { type: 'video/mp4', width: 320, height: 180, duration_ms: 2000 });
});

tests('the link to a file needs no key and gives the very bytes', async (t) => {
  const { punctual, client } = await begin(t);
  const bytes = await picture('png');
  const { body } = await upload(punctual, client, { bytes });
  const answer = await fetch(linkTo(punctual, body.media.url));

  t.is(answer.headers.get('content-type'), 'image/png');
  t.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes);
});

tests('the type is read from the bytes, not from the name or the header', async (t) => {
  const { punctual, client } = await begin(t);
  const bytes = await picture('png');
  const { body } = await upload(punctual, client, {
    bytes,
    fileName: 'movie.mp4',
    type: 'video/mp4',
  });

  t.is(body.media.type, 'image/png');
});

tests('a file may be given another name than its own', async (t) => {
  const { punctual, client } = await begin(t);
  const bytes = await picture('png');
  const { body } = await upload(punctual, client, { bytes, fields: { name: 'Our harbour.png' } });

  t.is(body.media.name, 'Our harbour.png');
});

tests('what is neither an image nor a video is refused, and nothing is left of it', async (t) => {
  const { punctual, client } = await begin(t);
  const bytes = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
  for (const each of [bytes, Buffer.from(''), Buffer.from('MZ\u0090\u0000')]) {
    const { status, body } = await upload(punctual, client, {
      bytes: each,
      fileName: 'cat.png',
      type: 'image/png',
    });
    t.is(status, 400);
    t.like(body, { code: 'invalid_media' });
  }

  t.deepEqual(await filesOf(punctual), []);
  t.is(await rowsOf(punctual, client.workspaceId), 0);
});

const file = 'content-disposition: form-data; name="file"; filename="a.png"\r\n\r\nx';
const field = (name: string) => `content-disposition: form-data; name="${name}"\r\n\r\nx`;
const body = (...parts: string[]) =>
  `${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`;

const wrong: Readonly<Record<string, readonly [string, string, string]>> = {
  'without any part': [body(), 'invalid_media', '/file'],
  'without a file': [body(field('name')), 'invalid_media', '/file'],
  'with the file in plain text': [body(field('file')), 'invalid_request', '/file'],
  'with two files': [body(file, file), 'invalid_request', '/file'],
  'with a file in another field': [
    body(file, file.replace('"file"', '"image"')),
    'invalid_request',
    '/image',
  ],
  'with an unknown field': [body(field('title'), file), 'invalid_request', '/title'],
  'with two names': [body(field('name'), field('name'), file), 'invalid_request', '/name'],
  'that ends before its end': [`--b\r\n${file}`, 'invalid_request', ''],
  'with another boundary': [body(file).replaceAll('--b', '--c'), 'invalid_request', ''],
};
for (const [name, [text, code, path]] of Object.entries(wrong)) {
  tests(`an upload ${name} is refused, and nothing is left of it`, async (t) => {
    const { punctual, client } = await begin(t);
    const reply = await post(punctual, client, text, {
      'content-type': 'multipart/form-data; boundary=b',
    });

    t.is(reply.status, 400, JSON.stringify(reply.body));
    t.is(reply.body.code, code);
    t.is(reply.body.details?.[0].path ?? '', path);
    t.deepEqual(await filesOf(punctual), []);
  });
}

tests('an upload without a boundary is refused', async (t) => {
  const { punctual, client } = await begin(t);
  const reply = await post(punctual, client, body(file), { 'content-type': 'multipart/form-data' });

  t.like(reply, { status: 400, body: { code: 'invalid_request' } });
});

for (const type of ['application/json', 'image/png', 'multipart/mixed; boundary=b', '']) {
  tests(`a body of type "${type}" is no upload`, async (t) => {
    const { punctual, client } = await begin(t);
    const reply = await post(punctual, client, body(file), { 'content-type': type });

    t.like(reply, { status: 415, body: { code: 'unsupported_media_type' } });
  });
}

tests('an upload without a key is refused', async (t) => {
  const { punctual, client } = await begin(t);
  const { status } = await upload(
    punctual,
    { ...client, key: 'svc_live_wrong' },
    {
      bytes: await picture(),
    },
  );

  t.is(status, 401);
  t.deepEqual(await filesOf(punctual), []);
});
