import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import test from 'ava';
import Koa from 'koa';
import { readMultipart } from '../../../api/http/read-multipart.ts';

// A disk says only after a while that it is full: the file is closed first, and the rest of the upload is there by then.
test('an upload whose last bytes could not be written is never taken for whole', async (t) => {
  const sink = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('full'), { code: 'ENOSPC' })),
    destroy: (error, done) => void setTimeout(() => done(error), 300),
  }).on('error', () => {});
  const outcome = Promise.withResolvers<unknown>();
  const app = new Koa().use(async (ctx) => {
    await readMultipart(ctx, { sink, maxBytes: 1_000_000, stallMs: 5000 }).then(
      () => outcome.resolve('whole'),
      outcome.resolve,
    );
    ctx.body = 'done';
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const form = new FormData();
  form.append('file', new Blob(['x'.repeat(100_000)]), 'a.png');
  const { port } = server.address() as AddressInfo;
  await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: form });

  t.like(await outcome.promise, { code: 'ENOSPC' });
});
