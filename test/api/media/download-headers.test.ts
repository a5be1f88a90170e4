import type { RequestListener } from 'node:http';
import type { ExecutionContext } from 'ava';
import { gzipSync } from 'node:zlib';
import { newClient } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { startLibrary } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
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
