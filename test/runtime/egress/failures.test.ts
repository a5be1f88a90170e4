import { once } from 'node:events';
import { connect as dial, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import type { buildConnector } from 'undici';
import {
  egressTo,
  failure,
  file,
  get,
  post,
  testEgress,
  turns,
  watchedEgress,
} from './support/egress.ts';
import { answering, at, okay, rawServer } from './support/servers.ts';
import {
  answeringServer,
  dripUntil,
  neverEnding,
  silentServer,
  stopClock,
} from './support/silent-servers.ts';

const beginning = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbeginning';
const chunkedHead = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const soon = { timeoutMs: 900 };

test('a port without a server: refused, certainly not sent', async (t) => {
  const egress = testEgress(t, { allow: '127.0.0.1/32:1' });

  t.is(await failure(t, egress.request(post('http://127.0.0.1:1/'))), 'connection_refused');
});

const silent = {
  ...neverEnding,
  'half a status line': { serve: answering('HTTP/1.1 20'), drop: '' },
};
for (const [name, { serve, drop }] of Object.entries(silent)) {
  test.serial(
    `a receiver that answers ${name}: a timeout on time, maybe sent, and the connection closes`,
    async (t) => {
      const { pass } = stopClock(t);
      const { server, asked, left } = await silentServer(t, serve);
      const { egress, came } = watchedEgress(t, server);
      const outcome = failure(t, egress.request(post(at(server), soon)));
      await dripUntil(soon.timeoutMs, { socket: await asked, drop, came, pass });

      t.is(await Promise.race([outcome, turns()]), undefined);
      pass(1);
      t.is(await outcome, 'timeout, maybe sent');
      await left;
      t.is(server.connections, 1);
    },
  );
}

type Begun = { readonly socket: Socket; readonly came: (bytes: number) => Promise<void> };
const endings: Readonly<Record<string, (begun: Begun, pass: (ms: number) => void) => unknown>> = {
  stalls: (_, pass) => pass(soon.timeoutMs),
  drips: async (begun, pass) => {
    await dripUntil(soon.timeoutMs, { ...begun, drop: '.', pass });
    pass(1);
  },
  'breaks off': ({ socket }) => socket.end(),
  'is reset': ({ socket }) => socket.resetAndDestroy(),
};
for (const [name, end] of Object.entries(endings)) {
  test.serial(`a body that ${name} after the status line is cut: the status decides`, async (t) => {
    const { pass } = stopClock(t);
    const { server, answered } = await answeringServer(t, beginning);
    const { egress, came } = watchedEgress(t, server);
    const answer = egress.request(post(at(server), soon));
    const socket = await answered;
    await came(beginning.length);
    await end({ socket, came }, pass);

    t.like(await answer, { status: 200, truncated: true });
    t.regex((await answer).body.toString(), /^beginning/v);
  });
}

test('a body of very many one-byte chunks is cut, and one of a few thousand is read', async (t) => {
  const chunks = (count: number) => '1\r\nx\r\n'.repeat(count);
  const take = async (count: number) => {
    const server = await rawServer(t, answering(`${chunkedHead}${chunks(count)}0\r\n\r\n`));
    return egressTo(t, server).request(get(at(server), { maxBytes: 2 ** 21 }));
  };
  t.like(await take(10_000), { truncated: false, body: { length: 10_000 } });
  const { status, truncated, body } = await take(1_000_000);
  t.like({ status, truncated }, { status: 200, truncated: true });
  t.true(body.length < 100_000, `${body.length} bytes were kept`);
});

test('a body that is broken where it begins is cut, even if it came with the headers', async (t) => {
  const server = await rawServer(t, answering(`${chunkedHead}ZZZ\r\n`));
  t.like(await egressTo(t, server).request(get(at(server))), { status: 200, truncated: true });
});

test('a signal after the status line cuts the body: the status decides', async (t) => {
  const controller = new AbortController();
  const server = await rawServer(t, answering(beginning));
  const { egress, came } = watchedEgress(t, server);
  const answer = egress.request(post(at(server), { signal: controller.signal }));
  await came(beginning.length);
  controller.abort();

  t.like(await answer, { status: 200, truncated: true });
});

const resets: Readonly<Record<string, (socket: Socket) => void>> = {
  'resets after reading': (socket) => socket.once('data', () => socket.resetAndDestroy()),
  'closes after reading': (socket) => socket.once('data', () => socket.end()),
  'closes half-way through its headers': (socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\na: b\r\n')),
};
for (const [name, serve] of Object.entries(resets)) {
  test(`a receiver that ${name}: one connection, maybe sent`, async (t) => {
    const server = await rawServer(t, serve);
    const answer = egressTo(t, server).request(post(at(server)));

    t.is(await failure(t, answer), 'connection_reset, maybe sent');
    t.is(server.connections, 1);
  });
}

test('a receiver that resets at once is not tried again', async (t) => {
  const server = await rawServer(t, (socket) => socket.resetAndDestroy());

  // The reset and the request race, so the request may or may not have been sent.
  t.regex(await failure(t, egressTo(t, server).request(post(at(server)))), /^connection_reset/v);
  t.is(server.connections, 1);
});

test.serial(
  'a name server that never answers: a timeout on time, certainly not sent',
  async (t) => {
    const { pass } = stopClock(t);
    const asked = Promise.withResolvers<void>();
    const resolve = () => (asked.resolve(), new Promise<never>(() => {}));
    const request = post('https://hook.example.com/', { timeoutMs: 50 });
    const outcome = failure(t, testEgress(t, { resolve }).request(request));
    await asked.promise;

    pass(49);
    t.is(await Promise.race([outcome, turns()]), undefined);
    pass(1);
    t.is(await outcome, 'timeout');
  },
);

test.serial(
  'a connection that is never established: a timeout on time, certainly not sent',
  async (t) => {
    const { pass } = stopClock(t);
    const server = await rawServer(t, answering(okay));
    const dialled = Promise.withResolvers<buildConnector.Callback>();
    const egress = testEgress(t, {
      allow: `127.0.0.1/32:${server.port}`,
      connectTo: () => (_options, callback) => dialled.resolve(callback),
    });
    const outcome = failure(t, egress.request(post(at(server), { timeoutMs: 50 })));
    const fail = await dialled.promise;

    pass(49);
    t.is(await Promise.race([outcome, turns()]), undefined);
    pass(1);
    t.is(await outcome, 'timeout');
    fail(Object.assign(new Error('refused late'), { code: 'ECONNREFUSED' }), null);
    t.is(server.connections, 0);
  },
);

test.serial(
  'a request that was aborted during its connection is not sent when the connection opens',
  async (t) => {
    const { pass } = stopClock(t);
    const received: string[] = [];
    const server = await rawServer(t, (socket) =>
      socket.on('data', (chunk) => received.push(`${chunk}`)),
    );
    const dialled = Promise.withResolvers<{ socket: Socket; connected: () => void }>();
    const egress = testEgress(t, {
      allow: `127.0.0.1/32:${server.port}`,
      connectTo: () => (_options, callback) => {
        const socket = dial(server.port, '127.0.0.1', () =>
          dialled.resolve({ socket, connected: () => callback(null, socket) }),
        );
      },
    });
    const outcome = failure(t, egress.request(post(at(server), { timeoutMs: 50 })));
    const { socket, connected } = await dialled.promise;
    pass(50);
    t.is(await outcome, 'timeout');
    connected();
    await new Promise((resolve) => socket.once('close', resolve));
    t.deepEqual(received, []);
  },
);

test('the caller’s signal ends a request like a timeout, with the same error', async (t) => {
  const server = await rawServer(t, (socket) =>
    socket.once('data', () => controller.abort(new Error('the worker stops'))),
  );
  const controller = new AbortController();
  const egress = egressTo(t, server);
  const error = await t.throwsAsync(egress.request(get(at(server), { signal: controller.signal })));

  t.like(error, { code: 'timeout', maybeSent: true, message: 'No response arrived in time.' });
  t.like(error?.cause, { message: 'the worker stops' });
});

for (const [name, { serve, drop }] of Object.entries(neverEnding)) {
  test.serial(
    `the connection to a server that answers ${name} closes after the silence`,
    async (t) => {
      const { pass } = stopClock(t);
      const { server, asked, left } = await silentServer(t, serve);
      const { egress, came } = watchedEgress(t, server);
      const outcome = failure(t, egress.download(file(at(server), { stallMs: 300 })));
      await dripUntil(300, { socket: await asked, drop, came, pass });

      t.is(await Promise.race([outcome, turns()]), undefined);
      pass(1);
      t.is(await outcome, 'timeout, maybe sent');
      await left;
    },
  );
}

test.serial('a body that stalls fails, and a slow one does not', async (t) => {
  const { pass } = stopClock(t);
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n';
  const begin = async () => {
    const { server, answered } = await answeringServer(t, head);
    const { egress, came } = watchedEgress(t, server);
    const { body } = await egress.download(file(at(server), { stallMs: 700 }));
    return { body, socket: await answered, came };
  };

  const slow = await begin();
  const whole = buffer(slow.body);
  for (let count = 1; count <= 10; count += 1) {
    pass(699);
    slow.socket.write('x');
    await slow.came(head.length + count);
  }
  t.is((await whole).length, 10);

  const stalled = await begin();
  const outcome = failure(t, buffer(stalled.body));
  stalled.socket.write('xxx');
  await stalled.came(head.length + 3);
  pass(699);
  t.is(await Promise.race([outcome, turns()]), undefined);
  pass(1);
  t.is(await outcome, 'timeout, maybe sent');
});

test.serial('a server that sends forever is cut off at the total time limit', async (t) => {
  const { pass } = stopClock(t);
  const { server, answered } = await answeringServer(t, 'HTTP/1.1 200 OK\r\n\r\n');
  const { egress, came } = watchedEgress(t, server);
  const { body } = await egress.download(file(at(server), { timeoutMs: 600 }));
  const outcome = failure(t, buffer(body));
  const socket = await answered;
  const left = once(socket, 'close');
  await dripUntil(600, { socket, drop: 'x', came, pass });

  t.is(await Promise.race([outcome, turns()]), undefined);
  pass(1);
  t.is(await outcome, 'timeout, maybe sent');
  await left;
});
