import { setTimeout as sleep } from 'node:timers/promises';
import { newClient } from '../../support/client.ts';
import { picture } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { startLibrary } from './support/start-library.ts';
import { filesOf, rowsOf, upload } from './support/library.ts';
import { answerTo, beginUpload, head, tail, write } from './support/raw-upload.ts';

const test = needs('postgres');

const limit = 200 * 1024 * 1024;
const piece = Buffer.alloc(1024 * 1024);

test('an upload that says it is too large is answered before it comes', async (t) => {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  const request = beginUpload(t, punctual, client, { 'content-length': 2 * limit });
  request.write(head);

  t.like(await answerTo(request), { status: 413, body: { code: 'payload_too_large' } });
  t.deepEqual(await filesOf(punctual), []);
});

test('an upload that is too large without saying so is stopped at the limit and answered', async (t) => {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
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
  t.deepEqual(await filesOf(punctual), []);
  t.is(await rowsOf(punctual, client.workspaceId), 0);
});

test('a refused client that goes on sending is cut off', async (t) => {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  const request = beginUpload(t, punctual, client, { 'content-length': 100 * limit });
  t.like(await answerTo(request), { status: 413 });
  const sending = setInterval(() => request.write('x'), 100);
  t.teardown(() => clearInterval(sending));

  await poll(
    async () => request.destroyed || request.socket?.destroyed === true,
    (gone) => gone,
    15_000,
  );
  t.pass();
});

test('a client that hangs up in the middle leaves no file and no row', async (t) => {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  const request = beginUpload(t, punctual, client);
  await write(request, head);
  await write(request, piece, 10);
  await poll(
    () => filesOf(punctual),
    (files) => files.length === 1,
  );
  request.destroy();

  await poll(
    () => filesOf(punctual),
    (files) => files.length === 0,
  );
  t.is(await rowsOf(punctual, client.workspaceId), 0);
  t.is((await upload(punctual, client, { bytes: await picture() })).status, 201);
});

test('a client that hangs up before its first byte is read leaves nothing and holds nothing up', async (t) => {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  for (let count = 0; count < 20; count += 1) {
    const request = beginUpload(t, punctual, client);
    request.write(head);
    await sleep(count);
    request.destroy();
  }

  t.is((await upload(punctual, client, { bytes: await picture() })).status, 201);
  await poll(
    () => filesOf(punctual),
    (files) => files.length === 1,
  );
  t.is(await rowsOf(punctual, client.workspaceId), 1);
});

test('a client that falls silent is answered, and nothing is left', async (t) => {
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

test('a client that is slow is waited for', async (t) => {
  const punctual = await startLibrary(t, { media: { stallMs: 1000 } });
  const client = await newClient(punctual);
  const bytes = await picture();
  const request = beginUpload(t, punctual, client);
  await write(request, head);
  for (const byte of bytes.subarray(0, 10)) {
    await write(request, Buffer.from([byte]));
    await sleep(200);
  }
  await write(request, bytes.subarray(10));
  request.end(tail);

  t.like(await answerTo(request), { status: 201 });
});
