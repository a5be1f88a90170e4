import { once } from 'node:events';
import { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { BodyTooLargeError, type DownloadRequest } from '../../../runtime/egress/download.ts';
import { createAuthority } from './support/certificates.ts';
import { dns, egressTo, failure, recordingConnector, testEgress } from './support/egress.ts';
import { answering, httpServer, rawServer, tlsServer } from './support/servers.ts';
import { neverEnding } from './support/never-ending.ts';

const at = ({ port }: { port: number }, path = '/') => `http://127.0.0.1:${port}${path}`;
const file = (url: string, options: Partial<DownloadRequest> = {}): DownloadRequest => ({
  url,
  maxBytes: 1000,
  stallMs: 5000,
  timeoutMs: 10_000,
  maxRedirects: 3,
  ...options,
});
const okay = (body: string, length = body.length) =>
  `HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: ${length}\r\n\r\n${body}`;

test('a file comes as a stream, with its status, headers and address', async (t) => {
  const server = await httpServer(t, (_request, response) =>
    response.setHeader('Content-Type', 'image/png').end('picture'),
  );
  const found = await egressTo(t, server).download(file(at(server)));

  t.like(found, { status: 200, url: at(server) });
  t.is(found.headers['content-type'], 'image/png');
  t.is((await buffer(found.body)).toString(), 'picture');
});

test('a file comes over TLS from a name that resolves to an address that is allowed', async (t) => {
  const authority = createAuthority();
  const server = await tlsServer(
    t,
    authority.issueFor(['files.example.com']),
    answering(okay('picture')),
  );
  const egress = testEgress(t, {
    ca: authority.ca,
    allow: `127.0.0.1/32:${server.port}`,
    resolve: dns({ 'files.example.com': ['127.0.0.1'] }),
  });
  const found = await egress.download(file(`https://files.example.com:${server.port}/a.png`));

  t.is((await buffer(found.body)).toString(), 'picture');
});

test('a failure of the server is handed over, and its body may be left', async (t) => {
  const server = await httpServer(t, (_request, response) => response.writeHead(404).end('no'));
  const egress = egressTo(t, server);
  const found = await egress.download(file(at(server)));
  found.body.destroy();

  t.is(found.status, 404);
  await t.notThrowsAsync(egress.close());
});

test('a first address is judged too, and nothing is dialled for a private one', async (t) => {
  const { connect, dialled } = recordingConnector();
  const egress = testEgress(t, { connect });

  t.is(await failure(t, egress.download(file('https://10.0.0.1/'))), 'blocked_destination');
  t.is(await failure(t, egress.download(file('gopher://x/'))), 'blocked_destination');
  t.deepEqual(dialled, []);
});

test('a length over the limit is refused before the body comes', async (t) => {
  const left = Promise.withResolvers<void>();
  const server = await rawServer(t, (socket) => {
    socket.on('close', () => left.resolve());
    socket.once('data', () => socket.write(okay('', 1001)));
  });

  await t.throwsAsync(egressTo(t, server).download(file(at(server))), {
    instanceOf: BodyTooLargeError,
  });
  await left.promise;
});

const endless: Readonly<Record<string, string>> = {
  'with no length': 'HTTP/1.1 200 OK\r\n\r\n',
  'in chunks': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
};
for (const [name, head] of Object.entries(endless)) {
  test(`a body ${name} is stopped at the limit, and the server is left`, async (t) => {
    const left = Promise.withResolvers<void>();
    const server = await rawServer(t, (socket) => {
      socket.on('close', () => left.resolve());
      socket.once('data', () => {
        socket.write(head);
        const piece = name === 'in chunks' ? `64\r\n${'x'.repeat(100)}\r\n` : 'x'.repeat(100);
        const timer = setInterval(() => socket.write(piece), 5);
        socket.on('close', () => clearInterval(timer));
      });
    });
    const { body } = await egressTo(t, server).download(file(at(server)));
    let length = 0;
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        length += chunk.length;
        done();
      },
    });

    await t.throwsAsync(pipeline(body, sink), { instanceOf: BodyTooLargeError });
    t.true(length <= 1000, `${length} bytes were taken`);
    await left.promise;
  });
}

test('a body that is longer than its length says is cut there, whatever the server sends', async (t) => {
  const server = await rawServer(t, answering(`${okay('picture', 7)}${'x'.repeat(5000)}`));
  const { body } = await egressTo(t, server).download(file(at(server)));

  t.is((await buffer(body)).toString(), 'picture');
});

for (const [name, serve] of Object.entries(neverEnding)) {
  test(`a server that answers ${name} is left after the silence`, async (t) => {
    const left = Promise.withResolvers<void>();
    const server = await rawServer(t, (socket) => {
      socket.on('close', () => left.resolve());
      socket.resume();
      serve(socket);
    });

    t.is(
      await failure(t, egressTo(t, server).download(file(at(server), { stallMs: 300 }))),
      'timeout, maybe sent',
    );
    await left.promise;
  });
}

test('a body that falls silent fails; one that comes slowly does not', async (t) => {
  const server = await rawServer(t, (socket) => {
    socket.once('data', (request) => {
      socket.write(okay('', 10));
      const pieces = String(request).includes('/slow') ? 10 : 3;
      void (async () => {
        for (let count = 0; count < pieces && !socket.destroyed; count += 1) {
          socket.write('x');
          await sleep(100);
        }
      })();
    });
  });
  const egress = egressTo(t, server);
  const slow = await egress.download(file(at(server, '/slow'), { stallMs: 700 }));
  t.is((await buffer(slow.body)).length, 10);

  const stalled = await egress.download(file(at(server), { stallMs: 700 }));
  t.is(await failure(t, buffer(stalled.body)), 'timeout, maybe sent');
});

test('a reader that is slow is no silence of the server', async (t) => {
  const server = await httpServer(t, (_request, response) =>
    response.end(Buffer.alloc(1_000_000, 'x')),
  );
  const found = await egressTo(t, server).download(
    file(at(server), { maxBytes: 1_000_000, stallMs: 300 }),
  );
  await sleep(900);

  t.is((await buffer(found.body)).length, 1_000_000);
});

test('a server that drips for ever is left when the whole time is up', async (t) => {
  const server = await rawServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const timer = setInterval(() => socket.write('x'), 20);
    socket.on('close', () => clearInterval(timer));
  });
  const found = await egressTo(t, server).download(file(at(server), { timeoutMs: 500 }));

  t.is(await failure(t, buffer(found.body)), 'timeout, maybe sent');
});

test('a body that breaks off fails, and never looks whole', async (t) => {
  const server = await rawServer(t, (socket) => {
    socket.once('data', () => socket.end(okay('beginning', 100)));
  });
  const found = await egressTo(t, server).download(file(at(server)));

  t.is(await failure(t, buffer(found.body)), 'connection_reset, maybe sent');
});

test('the signal of the caller ends a download in the middle', async (t) => {
  const controller = new AbortController();
  const left = Promise.withResolvers<void>();
  const server = await rawServer(t, (socket) => {
    socket.on('close', () => left.resolve());
    socket.once('data', () => socket.write(okay('beginning', 100)));
  });
  const found = await egressTo(t, server).download(file(at(server), { signal: controller.signal }));
  await once(found.body, 'readable');
  controller.abort(new Error('nobody waits'));

  t.is(await failure(t, buffer(found.body)), 'timeout, maybe sent');
  await left.promise;
});

test('nothing is held in memory: what nobody reads, the server keeps', async (t) => {
  let sent = 0;
  const total = 100_000_000;
  const server = await rawServer(t, (socket) => {
    const piece = Buffer.alloc(100_000);
    const more = () => {
      while (sent < total && socket.write(piece)) {
        sent += piece.length;
      }
    };
    socket.on('drain', more).once('data', () => socket.write(okay('', total), more));
  });
  const found = await egressTo(t, server).download(file(at(server), { maxBytes: total }));
  await sleep(500);
  // The two sides of a loopback connection may buffer a few megabytes in the kernel.
  t.true(sent < 30_000_000, `the server could send ${sent} bytes`);
  found.body.destroy();
});
