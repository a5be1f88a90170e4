import test from 'ava';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { EgressError } from '../../../runtime/egress/egress.ts';
import { egressTo, failure, get, post } from './support/egress.ts';
import { answering, at, httpServer, okay, rawServer } from './support/servers.ts';

test('the request arrives unchanged', async (t) => {
  const seen: unknown[] = [];
  const server = await httpServer(t, (request, response) => {
    seen.push(request.headers);
    response.end();
  });
  const body = '{"text":"grüße 🎉 \u2028","n":12345678901234567890}';

  await egressTo(t, server).request(
    post(at(server, '/a/b?c=d#e'), {
      body,
      headers: { 'content-type': 'application/json', a: 'b' },
    }),
  );

  t.deepEqual(server.requests, [`POST /a/b?c=d ${body}`]);
  t.deepEqual(seen, [
    {
      host: `127.0.0.1:${server.port}`,
      connection: 'keep-alive',
      'content-type': 'application/json',
      a: 'b',
      'accept-encoding': 'identity',
      'content-length': `${Buffer.byteLength(body)}`,
    },
  ]);
});

test('the answer has its status, headers and body', async (t) => {
  const server = await httpServer(t, (_request, response) => {
    response.setHeader('X-One', 'a');
    response.setHeader('Set-Cookie', ['first=1', 'second=2']);
    response.writeHead(404).end(Buffer.from([0, 255, 1]));
  });
  const answer = await egressTo(t, server).request(get(at(server)));

  t.like(answer, { status: 404, truncated: false });
  t.like(answer.headers, { 'x-one': 'a', 'set-cookie': 'first=1' });
  t.deepEqual([...answer.body], [0, 255, 1]);
});

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect by ${status} is returned and not followed`, async (t) => {
    const target = await httpServer(t, (_request, response) => response.end());
    const server = await httpServer(t, (_request, response) => {
      response.writeHead(status, { location: at(target) }).end();
    });
    const answer = await egressTo(t, server, target).request(post(at(server)));

    t.like(answer, { status, headers: { location: at(target) } });
    t.is(target.connections, 0);
  });
}

const sizes = [
  { size: 0, truncated: false },
  { size: 99, truncated: false },
  { size: 100, truncated: false },
  { size: 101, truncated: true },
  { size: 1_000_000, truncated: true },
];
for (const { size, truncated } of sizes) {
  test(`a body of ${size} bytes is ${truncated ? 'cut' : 'whole'} with a limit of 100`, async (t) => {
    const server = await httpServer(t, (_request, response) => response.end('x'.repeat(size)));
    const answer = await egressTo(t, server).request(get(at(server), { maxBytes: 100 }));

    t.is(answer.body.toString(), 'x'.repeat(Math.min(size, 100)));
    t.is(answer.truncated, truncated);
  });
}

test('an endless body is cut, and the connection closes', async (t) => {
  const server = await rawServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    const drip = () =>
      socket.writable && socket.write('a\r\n0123456789\r\n', () => setImmediate(drip));
    drip();
    socket.on('close', () => ended.resolve());
  });
  const ended = Promise.withResolvers<void>();
  const answer = await egressTo(t, server).request(get(at(server)));

  t.like(answer, { status: 200, truncated: true });
  t.is(answer.body.length, 2048);
  await ended.promise;
});

test('a compressed body is not expanded', async (t) => {
  const bomb = gzipSync(Buffer.alloc(10_000_000));
  const server = await httpServer(t, (_request, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.end(bomb);
  });
  const answer = await egressTo(t, server).request(get(at(server), { maxBytes: 1_000_000 }));

  t.true(answer.body.equals(bomb));
  t.is(answer.headers['content-encoding'], 'gzip');
});

const broken = {
  'with 17 KB of headers': `HTTP/1.1 200 OK\r\na: ${'b'.repeat(17_000)}\r\n\r\n`,
  'with 40 KB of headers in many lines': `HTTP/1.1 200 OK\r\n${`a: ${'b'.repeat(100)}\r\n`.repeat(400)}\r\n`,
  'of another protocol': 'SSH-2.0-OpenSSH_9.9\r\n',
  'with two lengths': 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
  'with NUL in a header': 'HTTP/1.1 200 OK\r\na: b\0c\r\n\r\n',
  'that switches protocols unasked': 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
};
for (const [name, text] of Object.entries(broken)) {
  test(`an answer ${name} is invalid`, async (t) => {
    const server = await rawServer(t, answering(text));

    t.is(
      await failure(t, egressTo(t, server).request(post(at(server)))),
      'invalid_response, maybe sent',
    );
    t.is(server.connections, 1);
  });
}

test('headers in Latin-1 are accepted', async (t) => {
  const server = await rawServer(t, (socket) => {
    socket.once('data', () =>
      socket.write(
        Buffer.from('HTTP/1.1 200 OK\r\na: gr\u00fc\u00dfe\r\ncontent-length: 0\r\n\r\n', 'latin1'),
      ),
    );
  });

  t.like(await egressTo(t, server).request(get(at(server))), { status: 200 });
});

test('a header with a line break is a fault of our own, and nothing is sent', async (t) => {
  const server = await rawServer(t, answering(okay));
  const egress = egressTo(t, server);
  const send = (headers: Record<string, string>) => egress.request(post(at(server), { headers }));

  await t.throwsAsync(send({ a: 'b\r\nc: d' }), { instanceOf: TypeError });
  await t.throwsAsync(send({ Host: 'internal' }), { instanceOf: TypeError });
  await t.throwsAsync(send({ 'Accept-Encoding': 'gzip' }), { instanceOf: TypeError });
  t.is(server.connections, 0);
});

const piece = Buffer.alloc(64 * 1024, 7);

/** A stream of `count` pieces that counts the ones taken from it. */
function pieces(count: number) {
  const state = { taken: 0, stream: Readable.from([]) as Readable };
  async function* all() {
    for (; state.taken < count; state.taken += 1) {
      yield piece;
    }
  }
  state.stream = Readable.from(all());
  return state;
}

test('a body is sent as it is read, with its length', async (t) => {
  const server = await httpServer(t, (request, response) =>
    response.end(JSON.stringify(request.headers)),
  );
  const stream = Readable.from([Buffer.from('one '), Buffer.from('two')]);
  const answer = await egressTo(t, server).request(
    post(at(server), { body: { stream, sizeBytes: 7 } }),
  );

  t.deepEqual(server.requests, ['POST / one two']);
  const headers = JSON.parse(answer.body.toString());
  t.is(headers['content-length'], '7');
  t.is(headers['transfer-encoding'], undefined);
});

test('an early refusal by the server is received before the whole body is sent', async (t) => {
  const refusal = 'HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno';
  const server = await rawServer(t, answering(refusal));
  const source = pieces(10_000);
  const egress = egressTo(t, server);
  const body = { stream: source.stream, sizeBytes: 10_000 * piece.length };
  const answer = await egress.request(post(at(server), { body }));

  t.is(answer.status, 413);
  t.is(answer.body.toString(), 'no');
  t.true(source.taken < 10_000);
  t.true(source.stream.destroyed);
  await egress.close();
});

test('a failing body ends the request with its cause, and counts as maybe sent', async (t) => {
  const server = await rawServer(t, () => {});
  const diskBroke = new Error('The disk broke.');
  async function* breaking() {
    yield piece;
    throw diskBroke;
  }
  const request = egressTo(t, server).request(
    post(at(server), { body: { stream: Readable.from(breaking()), sizeBytes: 1_000_000 } }),
  );
  const error = await t.throwsAsync(request, { instanceOf: EgressError });

  t.is(error?.cause, diskBroke);
  t.true(error?.maybeSent);
});

for (const [what, sizeBytes] of [
  ['shorter', piece.length + 1],
  ['longer', piece.length - 1],
] as const) {
  test(`a body that is ${what} than its announced length does not count as sent`, async (t) => {
    const server = await httpServer(t, (_request, response) => response.end('taken'));
    const body = { stream: pieces(1).stream, sizeBytes };
    const request = egressTo(t, server).request(post(at(server), { body }));

    t.is(await failure(t, request), 'connection_reset, maybe sent');
    t.deepEqual(server.requests, []);
  });
}

test('an aborted request destroys its body', async (t) => {
  const enough = new AbortController();
  const server = await rawServer(t, (socket) => socket.once('readable', () => enough.abort()));
  const source = pieces(10_000);
  const egress = egressTo(t, server);
  const body = { stream: source.stream, sizeBytes: 10_000 * piece.length };
  const attempt = egress.request(post(at(server), { body, signal: enough.signal }));

  t.is(await failure(t, attempt), 'timeout, maybe sent');
  if (!source.stream.closed) {
    await once(source.stream, 'close');
  }
  t.true(source.stream.destroyed);
});
