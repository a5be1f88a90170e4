import { setTimeout as sleep } from 'node:timers/promises';
import type { Socket } from 'node:net';
import test from 'ava';
import { egressTo, failure, get, post } from './support/egress.ts';
import { httpServer, okay, rawServer } from './support/servers.ts';

const at = ({ port }: { port: number }) => `http://127.0.0.1:${port}/`;

/** Calls `serve` for each request with its number on the connection, from 1. */
const counting = (serve: (socket: Socket, number: number) => void) => (socket: Socket) => {
  let requests = 0;
  socket.on('data', () => serve(socket, (requests += 1)));
};

test('requests one after the other share a connection', async (t) => {
  const server = await httpServer(t, (_request, response) => response.end());
  const egress = egressTo(t, server);

  for (let count = 0; count < 5; count += 1) {
    await egress.request(post(at(server)));
    await sleep(5);
  }

  t.is(server.requests.length, 5);
  t.is(server.connections, 1);
});

test('requests at the same time do not wait for each other', async (t) => {
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
  const server = await httpServer(t, (_request, response) => setTimeout(() => response.end(), 20));
  const egress = egressTo(t, server);
  const answers = Array.from({ length: 500 }, () => egress.request(get(at(server))));

  t.true((await Promise.all(answers)).every(({ status }) => status === 200));
  t.is(server.requests.length, 500);
  t.true(server.connections <= 256, `${server.connections} connections`);
});

test('a receiver that holds all of its connections holds up no other', async (t) => {
  const arrived = Promise.withResolvers<void>();
  let received = 0;
  const hanging = await rawServer(
    t,
    counting(() => (received += 1) === 256 && arrived.resolve()),
  );
  const healthy = await httpServer(t, (_request, response) => response.end());
  const egress = egressTo(t, hanging, healthy);
  const stop = new AbortController();
  const request = post(at(hanging), { timeoutMs: 60_000, signal: stop.signal });
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

test('failed requests free their place', async (t) => {
  const server = await rawServer(
    t,
    counting((socket) => {
      if (server.connections > 70) {
        socket.write(okay);
      } else {
        socket.destroy();
      }
    }),
  );
  const egress = egressTo(t, server);

  for (let count = 0; count < 70; count += 1) {
    await failure(t, egress.request(get(at(server))));
  }
  t.like(await egress.request(get(at(server))), { status: 200 });
});

test('a connection that was closed while idle is replaced, and the request is sent once', async (t) => {
  const server = await rawServer(
    t,
    counting((socket) => socket.end(okay)),
  );
  const egress = egressTo(t, server);

  await egress.request(post(at(server)));
  await sleep(50);
  await egress.request(post(at(server)));

  t.is(server.connections, 2);
});

const deaths: Readonly<Record<string, (socket: Socket) => void>> = {
  closed: (socket) => socket.end(),
  reset: (socket) => socket.resetAndDestroy(),
};
for (const [name, die] of Object.entries(deaths)) {
  test(`a shared connection that is ${name} by the second request: never sent again, maybe sent`, async (t) => {
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
    await sleep(5);
    t.is(await failure(t, egress.request(post(at(server)))), 'connection_reset, maybe sent');
    await sleep(50);
    t.is(received, 2);
    t.is(server.connections, 1);
  });
}

test('a connection that dies as the request leaves: sent once at most, however often it is tried', async (t) => {
  const bodies: string[] = [];
  const server = await rawServer(t, (socket) => {
    socket.on('data', (chunk) => {
      bodies.push(...(chunk.toString().match(/try-\d+/gv) ?? []));
      // Promises to stay and leaves: the next request meets the closing connection at a random moment.
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
    t.not(code, 'not sent', 'the receiver always accepts');
    t.true(server.connections - before <= 1);
    await sleep(Math.random() * 4);
  }

  t.is(new Set(bodies).size, bodies.length, 'no body came twice');
});

test('bytes that nobody asked for are not taken for the next answer', async (t) => {
  const server = await rawServer(
    t,
    counting((socket, number) => {
      socket.write(okay);
      if (number === 1) {
        setTimeout(() => socket.write('HTTP/1.1 500 Forged\r\ncontent-length: 0\r\n\r\n'), 10);
      }
    }),
  );
  const egress = egressTo(t, server);

  await egress.request(post(at(server)));
  await sleep(50);
  t.like(await egress.request(post(at(server))), { status: 200 });
  t.is(server.connections, 2);
});

test('an idle connection is given up after a few seconds, whatever the receiver asks for', async (t) => {
  const closed = Promise.withResolvers<void>();
  const server = await rawServer(t, (socket) => {
    socket.once('data', () =>
      socket.write(okay.replace('\r\n', '\r\nkeep-alive: timeout=999\r\n')),
    );
    socket.on('close', () => closed.resolve());
  });

  await egressTo(t, server).request(get(at(server)));
  const startedMs = performance.now();
  await closed.promise;
  t.true(performance.now() - startedMs < 9000);
});
