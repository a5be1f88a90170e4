import { connect as dial, type Socket } from 'node:net';
import test from 'ava';
import { egressTo, failure, get, post, testEgress } from './support/egress.ts';
import { answering, okay, rawServer } from './support/servers.ts';
import { neverEnding } from './support/never-ending.ts';

const at = ({ port }: { port: number }) => `http://127.0.0.1:${port}/`;
const head = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n';
/** Long enough for a busy machine to send the request first, short enough for a quick test. */
const soon = { timeoutMs: 1000 };

test('a port where nobody listens: refused, certainly not sent', async (t) => {
  const egress = testEgress(t, { allow: '127.0.0.1/32:1' });

  t.is(await failure(t, egress.request(post('http://127.0.0.1:1/'))), 'connection_refused');
});

const silent = { ...neverEnding, 'half a status line': answering('HTTP/1.1 20') };
for (const [name, serve] of Object.entries(silent)) {
  test(`a receiver that answers ${name}: a timeout on time, maybe sent, and it is left`, async (t) => {
    const left = Promise.withResolvers<void>();
    const server = await rawServer(t, (socket) => {
      socket.on('close', () => left.resolve());
      socket.resume();
      serve(socket);
    });
    const egress = egressTo(t, server);
    const startedMs = performance.now();

    t.is(await failure(t, egress.request(post(at(server), soon))), 'timeout, maybe sent');
    await left.promise;
    t.true(performance.now() - startedMs < 4000);
    t.is(server.connections, 1);
  });
}

const bodies: Readonly<Record<string, (socket: Socket) => void>> = {
  stalls: answering(`${head}beginning`),
  drips: (socket) => {
    socket.write(`${head}beginning`);
    const timer = setInterval(() => socket.write('.'), 50);
    socket.on('close', () => clearInterval(timer));
  },
  'breaks off': (socket) => {
    socket.once('data', () => socket.end(`${head}beginning`));
  },
  'is reset': (socket) => {
    socket.once('data', () =>
      socket.write(`${head}beginning`, () => setTimeout(() => socket.resetAndDestroy(), 300)),
    );
  },
};
for (const [name, serve] of Object.entries(bodies)) {
  test(`a body that ${name} after the status line is cut: the status decides`, async (t) => {
    const server = await rawServer(t, serve);
    const answer = await egressTo(t, server).request(post(at(server), soon));

    t.like(answer, { status: 200, truncated: true });
    t.regex(answer.body.toString(), /^beginning/v);
  });
}

const resets: Readonly<Record<string, (socket: Socket) => void>> = {
  'resets after it read': (socket) => socket.once('data', () => socket.resetAndDestroy()),
  'closes after it read': (socket) => socket.once('data', () => socket.end()),
  'closes half-way through its headers': (socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\na: b\r\n')),
};
for (const [name, serve] of Object.entries(resets)) {
  test(`a receiver that ${name}: one connection, maybe sent`, async (t) => {
    const server = await rawServer(t, serve);

    t.is(
      await failure(t, egressTo(t, server).request(post(at(server)))),
      'connection_reset, maybe sent',
    );
    t.is(server.connections, 1);
  });
}

test('a receiver that resets at once is not tried again', async (t) => {
  const server = await rawServer(t, (socket) => socket.resetAndDestroy());

  // Which comes first, the reset or the request, is a race, so either may be true of what was sent.
  t.regex(await failure(t, egressTo(t, server).request(post(at(server)))), /^connection_reset/v);
  t.is(server.connections, 1);
});

test('a name server that never answers: a timeout on time, certainly not sent', async (t) => {
  const egress = testEgress(t, { resolve: () => new Promise(() => {}) });
  const request = post('https://hook.example.com/', { timeoutMs: 50 });

  t.is(await failure(t, egress.request(request)), 'timeout');
});

test('a connection that is never made: a timeout on time, certainly not sent', async (t) => {
  const server = await rawServer(t, answering(okay));
  const egress = testEgress(t, {
    allow: `127.0.0.1/32:${server.port}`,
    connect: (_options, callback) => {
      const error = Object.assign(new Error('refused late'), { code: 'ECONNREFUSED' });
      setTimeout(() => callback(error, null), 200);
    },
  });

  t.is(await failure(t, egress.request(post(at(server), { timeoutMs: 50 }))), 'timeout');
  t.is(server.connections, 0);
});

test('a request that was given up while it connected is not sent when the connection comes', async (t) => {
  const received: string[] = [];
  const server = await rawServer(t, (socket) =>
    socket.on('data', (chunk) => received.push(`${chunk}`)),
  );
  const connected = Promise.withResolvers<Socket>();
  const egress = testEgress(t, {
    allow: `127.0.0.1/32:${server.port}`,
    connect: ({ port }, callback) => {
      const socket = dial(Number(port), '127.0.0.1');
      setTimeout(() => callback(null, socket), 200);
      socket.on('close', () => connected.resolve(socket));
    },
  });

  t.is(await failure(t, egress.request(post(at(server), { timeoutMs: 50 }))), 'timeout');
  await connected.promise;
  t.deepEqual(received, []);
});

test('the signal of the caller ends a request like the end of its time, and says why', async (t) => {
  const server = await rawServer(t, (socket) =>
    socket.once('data', () => controller.abort(new Error('the worker stops'))),
  );
  const controller = new AbortController();
  const egress = egressTo(t, server);
  const error = await t.throwsAsync(egress.request(get(at(server), { signal: controller.signal })));

  t.like(error, { code: 'timeout', maybeSent: true, message: 'No answer came in time.' });
  t.like(error?.cause, { message: 'the worker stops' });
});

test('a signal that has aborted already: nothing is dialled', async (t) => {
  const server = await rawServer(t, () => {});
  const request = post(at(server), { signal: AbortSignal.abort() });

  t.is(await failure(t, egressTo(t, server).request(request)), 'timeout');
  t.is(server.connections, 0);
});

test('a signal after the status line cuts the body: the status decides', async (t) => {
  const controller = new AbortController();
  const server = await rawServer(t, (socket) => {
    socket.once('data', () => {
      socket.write(`${head}beginning`, () => setTimeout(() => controller.abort(), 300));
    });
  });
  const answer = await egressTo(t, server).request(post(at(server), { signal: controller.signal }));

  t.like(answer, { status: 200, truncated: true });
});
