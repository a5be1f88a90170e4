import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { createKeyedSemaphore } from '../../../runtime/concurrency.ts';
import {
  egressTo,
  failure,
  get,
  post,
  testEgress,
  turns,
  watchedEgress,
} from './support/egress.ts';
import { answering, at, httpServer, okay, rawServer } from './support/servers.ts';
import { stopClock } from './support/silent-servers.ts';

/** Calls `serve` for each request with its number on the connection, from 1. */
const counting = (serve: (socket: Socket, number: number) => void) => (socket: Socket) => {
  let requests = 0;
  socket.on('data', () => serve(socket, (requests += 1)));
};

test('consecutive requests share a connection', async (t) => {
  const server = await httpServer(t, (_request, response) => response.end());
  const egress = egressTo(t, server);

  for (let count = 0; count < 5; count += 1) {
    await egress.request(post(at(server)));
    // A connection returns to the pool in the turn after its answer.
    await turns();
  }

  t.is(server.requests.length, 5);
  t.is(server.connections, 1);
});

test('concurrent requests do not wait for each other', async (t) => {
  const arrived: (() => void)[] = [];
  const server = await httpServer(t, (_request, response) => {
    arrived.push(() => response.end());
    if (arrived.length === 10) {
      arrived.forEach((answer) => answer());
    }
  });
  const egress = egressTo(t, server);
  const answers = Array.from({ length: 10 }, () => egress.request(post(at(server))));

  t.true((await Promise.all(answers)).every(({ status }) => status === 200));
});

test('no more than 256 connections to one receiver are open at a time', async (t) => {
  // The first 256 are answered together, so that 256 connections are open at once.
  const held: ServerResponse[] = [];
  const server = await httpServer(t, (_request, response) => {
    held.push(response);
    if (server.requests.length >= 256) {
      held.splice(0).forEach((each) => each.end());
    }
  });
  const egress = egressTo(t, server);
  const answers = Array.from({ length: 500 }, () => egress.request(get(at(server))));

  t.true((await Promise.all(answers)).every(({ status }) => status === 200));
  t.is(server.requests.length, 500);
  t.true(server.connections <= 256, `${server.connections} connections`);
});

test('a receiver that holds all its connections does not delay others', async (t) => {
  const arrived = Promise.withResolvers<void>();
  let received = 0;
  const hanging = await rawServer(
    t,
    counting(() => (received += 1) === 256 && arrived.resolve()),
  );
  const healthy = await httpServer(t, (_request, response) => response.end());
  const egress = egressTo(t, hanging, healthy);
  const stop = new AbortController();
  const request = post(at(hanging), { signal: stop.signal });
  let isOver = false;
  const stuck = Array.from({ length: 300 }, () =>
    failure(t, egress.request(request)).finally(() => (isOver = true)),
  );

  await arrived.promise;
  t.like(await egress.request(post(at(healthy))), { status: 200 });
  t.false(isOver);

  stop.abort();
  const codes = await Promise.all(stuck);
  t.is(codes.filter((code) => code === 'timeout, maybe sent').length, 256);
  t.is(codes.filter((code) => code === 'timeout').length, 44);
  t.is(hanging.connections, 256);
});

test('failed requests release their connections', async (t) => {
  let isWell = false;
  const server = await rawServer(
    t,
    counting((socket) => (isWell ? socket.write(okay) : socket.destroy())),
  );
  const egress = egressTo(t, server);

  // More than the limit of connections.
  const failing = Array.from({ length: 300 }, () => failure(t, egress.request(get(at(server)))));
  t.deepEqual(new Set(await Promise.all(failing)), new Set(['connection_reset, maybe sent']));
  isWell = true;
  t.like(await egress.request(get(at(server))), { status: 200 });
});

test('a connection that was closed while idle is replaced, and the request is sent once', async (t) => {
  const closed = Promise.withResolvers<void>();
  const server = await rawServer(t, (socket) => {
    socket.once('data', () => socket.end(okay)).on('close', () => closed.resolve());
  });
  const egress = egressTo(t, server);

  await egress.request(post(at(server)));
  await closed.promise;
  await egress.request(post(at(server)));

  t.is(server.connections, 2);
});

const deaths: Readonly<Record<string, (socket: Socket) => void>> = {
  closed: (socket) => socket.end(),
  reset: (socket) => socket.resetAndDestroy(),
};
for (const [name, die] of Object.entries(deaths)) {
  test(`a shared connection that is ${name} by the second request: the request is not repeated, maybe sent`, async (t) => {
    let received = 0;
    const server = await rawServer(
      t,
      counting((socket, number) => {
        received += 1;
        if (number === 1) {
          socket.write(okay);
        } else {
          die(socket);
        }
      }),
    );
    const egress = egressTo(t, server);

    await egress.request(post(at(server)));
    await turns();
    t.is(await failure(t, egress.request(post(at(server)))), 'connection_reset, maybe sent');
    // If the second request had been repeated, the third one's answer would come after it.
    t.is(server.connections, 1);
    await egress.request(post(at(server)));
    t.is(received, 3);
    t.is(server.connections, 2);
  });
}

test('a connection that closes while a request leaves: each request is sent at most once', async (t) => {
  const bodies: string[] = [];
  const server = await rawServer(t, (socket) => {
    socket.on('data', (chunk) => {
      bodies.push(...(chunk.toString().match(/try-\d+/gv) ?? []));
      // Promises to keep the connection and closes it: the next request meets the close at a random moment.
      socket.write(okay);
      setTimeout(() => socket.destroy(), Math.random() * 4);
    });
  });
  const egress = egressTo(t, server);

  for (let number = 0; number < 200; number += 1) {
    const before = server.connections;
    const request = egress.request(post(at(server), { body: `try-${number}` }));
    const code = await request.then(
      () => 'sent',
      ({ maybeSent }) => (maybeSent ? 'maybe' : 'not sent'),
    );
    t.not(code, 'not sent', 'the receiver accepts every connection');
    t.true(server.connections - before <= 1);
    await sleep(Math.random() * 4);
  }

  t.is(new Set(bodies).size, bodies.length, 'no body arrived twice');
});

test('unrequested bytes are not taken for the next answer', async (t) => {
  const sockets: Socket[] = [];
  const server = await rawServer(t, (socket) => {
    sockets.push(socket.on('data', () => socket.write(okay)));
  });
  const egress = egressTo(t, server);

  await egress.request(post(at(server)));
  await turns();
  const left = sockets.map((socket) => once(socket, 'close'));
  sockets.forEach((socket) => socket.write('HTTP/1.1 500 Forged\r\ncontent-length: 0\r\n\r\n'));
  await Promise.all(left);
  t.like(await egress.request(post(at(server))), { status: 200 });
  t.is(server.connections, 2);
});

test.serial(
  'an idle connection is closed after a few seconds, even if the receiver asks for more',
  async (t) => {
    const { pass } = stopClock(t);
    const server = await rawServer(
      t,
      answering(okay.replace('\r\n', '\r\nkeep-alive: timeout=999\r\n')),
    );
    const { egress, sockets } = watchedEgress(t, server);
    await egress.request(get(at(server)));
    // It is idle from the turn after its answer.
    await turns();

    pass(3999);
    t.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      [false],
    );
    pass(1);
    t.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      [true],
    );
  },
);

const signal = new AbortController().signal;

test('later callers wait in line until a slot is released', async (t) => {
  const enter = createKeyedSemaphore(2);
  const order: string[] = [];
  const [leaveFirst, leaveSecond] = await Promise.all([enter('a', signal), enter('a', signal)]);
  const third = enter('a', signal).then((leave) => (order.push('third'), leave));
  const fourth = enter('a', signal).then((leave) => (order.push('fourth'), leave));

  await enter('b', signal);
  t.deepEqual(order, []);

  leaveFirst();
  leaveFirst();
  const leaveThird = await third;
  await new Promise(setImmediate);
  t.deepEqual(order, ['third']);

  leaveSecond();
  leaveThird();
  await fourth;
  t.deepEqual(order, ['third', 'fourth']);
});

test('a caller with an aborted signal gets no slot', async (t) => {
  await t.throwsAsync(createKeyedSemaphore(1)('a', AbortSignal.abort(new Error('enough'))), {
    message: 'enough',
  });
});

test('a request that may no longer start after its DNS lookup sends nothing, and reports it', async (t) => {
  const server = await httpServer(t, (_request, response) => response.end());
  const found = Promise.withResolvers<string[]>();
  const asked = Promise.withResolvers<void>();
  const egress = testEgress(t, {
    allow: `127.0.0.1/32:${server.port}`,
    resolve: async () => {
      asked.resolve();
      return found.promise;
    },
  });
  let mayStart = true;
  const url = `http://late.test:${server.port}/`;
  const outcome = failure(t, egress.request(post(url, { mayStart: () => mayStart })));
  await asked.promise;
  mayStart = false;
  found.resolve(['127.0.0.1']);

  t.is(await outcome, 'timeout');
  mayStart = true;
  t.is(
    (await egress.request(post(url, { body: 'in time', mayStart: () => mayStart }))).status,
    200,
  );
  t.deepEqual(server.requests, ['POST / in time']);
});
