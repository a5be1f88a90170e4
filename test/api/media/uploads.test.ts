import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { fileName } from '../../../services/media/file-texts.ts';
import { newClient } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { picture, video } from '../../support/media-files.ts';
import {
  filesOf,
  newFilesOf,
  noTemporal,
  rowsOf,
  startLibrary,
  upload,
} from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { answerTo, beginUpload, head, tail, write } from './support/raw-upload.ts';

const test = needs('postgres');
const api = sharedApi(test, { temporalEnv: noTemporal });

async function library() {
  const { punctual } = api;
  return { punctual, client: await api.newClient(), files: await newFilesOf(punctual) };
}

test.serial(
  'an uploaded picture is in the library, with the facts read from its bytes',
  async (t) => {
    const { punctual, client, files } = await library();
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
    t.deepEqual(await files(), [body.media.id]);
  },
);

test('an uploaded video has a duration', async (t) => {
  const { punctual, client } = await library();
  const bytes = await video('mp4');
  const { body } = await upload(punctual, client, { bytes, fileName: 'a.mp4' });

  t.like(body.media, { type: 'video/mp4', width: 320, height: 180, duration_ms: 2000 });
});

test('the type is read from the bytes, not from the name or the header', async (t) => {
  const { punctual, client } = await library();
  const bytes = await picture('png');
  const { body } = await upload(punctual, client, {
    bytes,
    fileName: 'movie.mp4',
    type: 'video/mp4',
  });

  t.is(body.media.type, 'image/png');
});

test.serial(
  'a file that is neither an image nor a video is refused, and no file is left',
  async (t) => {
    const { punctual, client, files } = await library();
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

    t.deepEqual(await files(), []);
    t.is(await rowsOf(punctual, client.workspaceId), 0);
  },
);

const limit = 200 * 1024 * 1024;
const piece = Buffer.alloc(1024 * 1024);

test.serial('an upload that announces too many bytes is answered before its body', async (t) => {
  const { punctual, client, files } = await library();
  const request = beginUpload(t, punctual, client, { 'content-length': 2 * limit });
  request.write(head);

  t.like(await answerTo(request), { status: 413, body: { code: 'payload_too_large' } });
  t.deepEqual(await files(), []);
});

test.serial(
  'an upload that is too large without a length is stopped at the limit and answered',
  async (t) => {
    const { punctual, client, files } = await library();
    const request = beginUpload(t, punctual, client);
    const answer = answerTo(request);
    await write(request, head);
    await write(request, piece, 200);
    t.is(request.destroyed, false);
    await write(request, Buffer.from('x'));

    t.like(await answer, {
      status: 413,
      body: { code: 'payload_too_large', error: 'The file is larger than 200 MB.' },
    });
    t.deepEqual(await files(), []);
    t.is(await rowsOf(punctual, client.workspaceId), 0);
  },
);

test('a client that sends its whole body before it reads gets a refusal, also without keep-alive', async (t) => {
  const { url } = (await library()).punctual;
  const socket = connect(Number(new URL(url).port), '127.0.0.1').pause();
  t.teardown(() => socket.destroy());
  socket.write(
    'POST /api/v1/media HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 20971520\r\n\r\n',
  );
  for (let sent = 0; sent < 20; sent += 1) {
    await promisify(socket.write.bind(socket) as (bytes: Buffer, done: () => void) => void)(piece);
  }

  t.regex(await text(socket), /^HTTP\/1.1 401 /v);
});

test('a refused client that keeps sending is disconnected', async (t) => {
  const { punctual, client } = await library();
  const request = beginUpload(t, punctual, client, { 'content-length': 100 * limit });
  t.like(await answerTo(request), { status: 413 });
  const sending = setInterval(() => request.write('x'), 100);
  t.teardown(() => clearInterval(sending));

  await poll(
    async () => request.destroyed || request.socket?.destroyed === true,
    (gone) => gone,
  );
  t.pass();
});

test.serial('a client that hangs up in the middle leaves no file and no row', async (t) => {
  const { punctual, client, files } = await library();
  const request = beginUpload(t, punctual, client);
  await write(request, head);
  await write(request, piece, 10);
  await poll(files, ({ length }) => length === 1);
  request.destroy();

  await poll(files, ({ length }) => length === 0);
  t.is(await rowsOf(punctual, client.workspaceId), 0);
  t.is((await upload(punctual, client, { bytes: await picture() })).status, 201);
});

test('a stalled client is answered, and no file is left', async (t) => {
  const punctual = await startLibrary(t, { media: { stallMs: 500 } });
  const client = await newClient(punctual);
  const request = beginUpload(t, punctual, client);
  await write(request, head);
  await write(request, piece);

  t.like(await answerTo(request), {
    status: 400,
    body: { code: 'invalid_request', error: 'Nothing came for 0.5 s.' },
  });
  t.deepEqual(await filesOf(punctual), []);
});

test('a slow client is accepted', async (t) => {
  // In total the client takes longer than it may stall, with a tenth of that between two bytes.
  const uploadSlowly = async (stallMs: number) => {
    const punctual = await startLibrary(t, { media: { stallMs } });
    const bytes = await picture();
    const request = beginUpload(t, punctual, await newClient(punctual));
    const answer = answerTo(request);
    await write(request, head);
    for (const byte of bytes.subarray(0, 11)) {
      await write(request, Buffer.from([byte]));
      await sleep(stallMs / 10);
    }
    await write(request, bytes.subarray(11));
    request.end(tail);
    return answer;
  };
  const answer = await uploadSlowly(4000);
  // A machine that paused between two bytes gets ten times as long. If slow clients are refused, this fails again.
  t.like(answer.status === 201 ? answer : await uploadSlowly(40_000), { status: 201 });
});

const cleaned: Readonly<Record<string, readonly [string | undefined, string]>> = {
  'is unchanged when it is harmless': ['Our harbour (2).PNG', 'Our harbour (2).PNG'],
  'loses the folders before it': ['/etc/passwd', 'passwd'],
  'loses control characters': ['a\u0000b\r\nc\u007f.png', 'abc.png'],
  'loses marks that turn its direction': ['cat\u202egnp.exe', 'catgnp.exe'],
  'is composed, as most programs type it': ['a\u0308.png', 'ä.png'],
  'has no half of a surrogate pair': ['a\ud800.png', 'a\ufffd.png'],
  'that is empty is derived from the type': ['', 'file.jpg'],
  'with folders only is derived from the type': ['a/b/', 'file.jpg'],
  'that is too long keeps its ending': [`${'a'.repeat(300)}.jpeg`, `${'a'.repeat(250)}.jpeg`],
  'of many combining marks is read from its end, because normalizing takes quadratic time': [
    `a${'\u0315\u0316'.repeat(1000)}.png`,
    `${'\u0316'.repeat(251)}.png`,
  ],
};
for (const [what, [given, expected]] of Object.entries(cleaned)) {
  test(`a name ${what}`, (t) => {
    t.is(fileName(given, 'image/jpeg'), expected);
  });
}
