import { once } from 'node:events';
import { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import test from 'ava';
import { BodyTooLargeError } from '../../../runtime/egress/egress.ts';
import { createAuthority } from './support/certificates.ts';
import {
  dns,
  egressTo,
  failure,
  file,
  recordingConnector,
  testEgress,
  turns,
} from './support/egress.ts';
import { answering, at, httpServer, rawServer, tlsServer } from './support/servers.ts';

const okay = (body: string, length = body.length) =>
  `HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: ${length}\r\n\r\n${body}`;

test('a file arrives as a stream, with its status, headers and address', async (t) => {
  const server = await httpServer(t, (_request, response) =>
    response.setHeader('Content-Type', 'image/png').end('picture'),
  );
  const found = await egressTo(t, server).download(file(at(server)));

  t.like(found, { status: 200, url: at(server) });
  t.is(found.headers['content-type'], 'image/png');
  t.is((await buffer(found.body)).toString(), 'picture');
});

test('a file arrives over TLS from a name that resolves to an allowed address', async (t) => {
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

test('an error status is returned, and its body may be left unread', async (t) => {
  const server = await httpServer(t, (_request, response) => response.writeHead(404).end('no'));
  const egress = egressTo(t, server);
  const found = await egress.download(file(at(server)));
  found.body.destroy();

  t.is(found.status, 404);
  await t.notThrowsAsync(egress.close());
});

test('the first address is checked too, and a private one is not dialled', async (t) => {
  const { connectTo, dialled } = recordingConnector();
  const egress = testEgress(t, { connectTo });

  t.is(await failure(t, egress.download(file('https://10.0.0.1/'))), 'blocked_destination');
  t.is(await failure(t, egress.download(file('gopher://x/'))), 'blocked_destination');
  t.deepEqual(dialled, []);
});

test('a length over the limit is refused before the body arrives', async (t) => {
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
  test(`a body ${name} is stopped at the limit, and the connection closes`, async (t) => {
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

test('a body that breaks off fails, and never looks complete', async (t) => {
  const server = await rawServer(t, (socket) => {
    socket.once('data', () => socket.end(okay('beginning', 100)));
  });
  const found = await egressTo(t, server).download(file(at(server)));

  t.is(await failure(t, buffer(found.body)), 'connection_reset, maybe sent');
});

test("the caller's signal ends a download in the middle", async (t) => {
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

test('nothing is buffered in memory: the server keeps the bytes that are not read', async (t) => {
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
  // Enough turns to send all of it.
  await turns(5000);
  // Both sides of a loopback connection may buffer a few megabytes in the kernel.
  t.true(sent < 30_000_000, `the server could send ${sent} bytes`);
  found.body.destroy();
});

const redirect = (to: string) =>
  `HTTP/1.1 302 Found\r\nlocation: ${to}\r\ncontent-length: 0\r\n\r\n`;

test('A20: three redirects are followed, including relative ones; the fourth is refused', async (t) => {
  const server = await httpServer(t, ({ url = '' }, response) => {
    const count = Number(url.slice(1));
    response.writeHead(count > 0 ? 302 : 200, count > 0 ? { location: `/${count - 1}` } : {});
    response.end('picture');
  });
  const egress = egressTo(t, server);
  const found = await egress.download(file(at(server, '/3')));

  t.is(found.url, at(server, '/0'));
  t.is((await buffer(found.body)).toString(), 'picture');
  const error = await t.throwsAsync(egress.download(file(at(server, '/4'))));
  t.like(error, { code: 'invalid_response', message: 'It redirects more than 3 times.' });
  t.is(server.requests.length, 8);
});

test('a redirect in raw UTF-8 keeps its bytes, and one in Latin-1 its letters', async (t) => {
  const locations = {
    '/utf-8': Buffer.from('/ziel-ü-日本.jpg').toString('latin1'),
    '/latin-1': '/ziel-ü.jpg',
  };
  const targets = {
    '/utf-8': '/ziel-%C3%BC-%E6%97%A5%E6%9C%AC.jpg',
    '/latin-1': '/ziel-%C3%BC.jpg',
  };
  const server = await httpServer(t, ({ url = '' }, response) => {
    const location = new Map(Object.entries(locations)).get(url);
    response.writeHead(location ? 302 : 200, location ? { location } : {}).end('picture');
  });
  const egress = egressTo(t, server);
  for (const [from, to] of Object.entries(targets)) {
    const found = await egress.download(file(at(server, from)));
    found.body.destroy();
    t.is(found.url, at(server, to));
  }
  t.deepEqual(
    server.requests,
    Object.entries(targets)
      .flat()
      .map((path) => `GET ${path}`),
  );
});

const traps = {
  'a private address': 'https://10.0.0.1/',
  'the metadata of a cloud': 'https://169.254.169.254/latest',
  'the metadata of a cloud, over plain http': 'http://169.254.169.254/',
  'the IPv6 loopback': 'https://[::1]/',
  'a mapped address': 'https://[::ffff:127.0.0.1]/',
  'an address in decimal': 'https://2130706433/',
  'a name that leads to a private address': 'https://inside.example.com/',
  'plain http': 'http://files.example.com/',
  'another port of this machine': 'https://127.0.0.1:1/',
  'another scheme': 'file:///etc/passwd',
  'an address with a user': 'https://user@files.example.com/',
  'an address with a password': 'https://me:secret@files.example.com/',
  'a URL without a host': 'https://',
};
for (const [name, to] of Object.entries(traps)) {
  test(`R71: a redirect to ${name} is refused, and nothing is dialled for it`, async (t) => {
    const server = await rawServer(t, answering(redirect(to)));
    const { connectTo, dialled } = recordingConnector(server.port);
    const egress = testEgress(t, {
      allow: `127.0.0.1/32:${server.port}`,
      connectTo,
      resolve: dns({
        'inside.example.com': ['192.168.1.1'],
        'files.example.com': ['93.184.216.34'],
      }),
    });

    t.regex(await failure(t, egress.download(file(at(server)))), /^blocked_destination/v);
    t.deepEqual(dialled, ['127.0.0.1']);
  });
}

test('R71: a redirect loop ends after the third redirect', async (t) => {
  const server = await httpServer(t, (_request, response) =>
    response.writeHead(302, { location: '/' }).end(),
  );

  const code = await failure(t, egressTo(t, server).download(file(at(server))));
  t.is(code, 'invalid_response, maybe sent');
  t.is(server.requests.length, 4);
});
