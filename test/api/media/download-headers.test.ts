import type { RequestListener } from 'node:http';
import type { ExecutionContext } from 'ava';
import { gzipSync } from 'node:zlib';
import { newClient } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { rowsOf, startLibrary } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { ca, fileServer } from './support/file-server.ts';

const test = needs('postgres');

const shared = beforeTests(test, async (t) => {
  const server = await fileServer(t);
  return { server, punctual: await startLibrary(t, { ca, allowPorts: [server.port] }) };
});

/** Drafts a post with a file for which a server gives this response. */
async function draftWith(t: ExecutionContext, answer: RequestListener) {
  const { server, punctual } = shared();
  const site = server.newSite({ '/a.jpg': answer });
  const client = await newClient(punctual);
  return client.post('/posts', { body: 'Look', media_urls: [site.at('/a.jpg')] });
}

test('a file that its server compressed is refused with that reason', async (t) => {
  const packed = gzipSync(await picture('jpeg'));
  const { status, body } = await draftWith(t, (_request, response) =>
    response.setHeader('content-encoding', 'gzip').end(packed),
  );

  t.is(status, 400);
  t.is(body.code, 'invalid_media_url');
  t.regex(
    body.details[0].message,
    /^The server sent the file compressed \(Content-Encoding: gzip\)/v,
  );
});

test('a picture is downloaded from a server that has it only as application/octet-stream', async (t) => {
  const still = await picture('jpeg');
  const { status } = await draftWith(t, ({ headers: { accept = '' } }, response) =>
    accept.includes('*/*')
      ? response.setHeader('content-type', 'application/octet-stream').end(still)
      : response.writeHead(406).end(),
  );

  t.is(status, 201);
});

test('a file comes into the library by its URL, with a name and an alt text, once for each key', async (t) => {
  const { punctual, server } = shared();
  const client = await newClient(punctual);
  const site = server.newSite({ '/a.jpg': await picture('jpeg') });
  const sent = { url: site.at('/a.jpg'), name: 'Cat.jpg', alt_text: 'A cat' };
  const send = (body: object) => client.post('/media/import', body, { 'idempotency-key': 'k' });
  const first = await send(sent);
  t.is(first.status, 201, JSON.stringify(first.body));
  t.like(first.body.media, { type: 'image/jpeg', name: 'Cat.jpg', alt_text: 'A cat' });
  t.deepEqual((await client.get(`/media/${first.body.media.id}`)).body, first.body);
  const again = await send(sent);
  t.is(again.status, 200);
  t.deepEqual(again.body, first.body);
  t.is((await send({ ...sent, name: 'Dog.jpg' })).body.code, 'idempotency_key_reused');
  t.deepEqual(site.asked, ['/a.jpg']);

  const refused = await client.post('/media/import', { url: 'http://127.0.0.1:1/a.jpg' });
  t.is(refused.body.code, 'invalid_media_url');
  t.is(refused.body.details[0].path, '/url');
  const blank = await client.post('/media/import', { ...sent, alt_text: ' ' });
  t.is(blank.body.error, 'alt_text must not be blank.');
  t.is(await rowsOf(punctual, client.workspaceId), 1);
  const { entries } = (await client.get('/audit')).body;
  t.deepEqual(
    entries.map(({ action, object_id: id }: Record<string, string>) => [action, id]),
    [['media.uploaded', first.body.media.id]],
  );
});

test('a workspace downloads 16 files at a time, its others follow, and other workspaces do not wait', async (t) => {
  const { punctual, server } = shared();
  const [client, other] = [await newClient(punctual), await newClient(punctual)];
  const [still, held] = [await picture('jpeg'), Promise.withResolvers<void>()];
  const site = server.newSite({
    '/a.jpg': (_request, response) => void held.promise.then(() => response.end(still)),
    '/b.jpg': still,
  });
  const send = (from: typeof client, path: string) =>
    from.post('/media/import', { url: site.at(path) });
  const imports = Array.from({ length: 17 }, () => send(client, '/a.jpg'));
  await poll(
    async () => site.asked.length,
    (count) => count === 16,
  );
  t.is((await send(other, '/b.jpg')).status, 201);
  t.is(site.asked.length, 17);
  held.resolve();
  t.true((await Promise.all(imports)).every(({ status }) => status === 201));
});
