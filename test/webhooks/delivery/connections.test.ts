import { once } from 'node:events';
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { testEgress } from '../../runtime/egress/support/egress.ts';
import { inTurn, sayingLast, status, type Answer } from '../support/answers.ts';
import { sharedWorld } from '../support/shared-world.ts';

const world = sharedWorld(test);

/** A way out that shares its connections with no other test. */
const apart = (t: ExecutionContext) => ({
  egress: testEgress(t, { allow: `127.0.0.1/32:${world.stage.port}` }),
});

const broken: Readonly<Record<string, Answer>> = {
  'resets the connection': (socket) => socket.resetAndDestroy(),
  'closes the connection': (socket) => socket.destroy(),
  'ends its half of the connection': (socket) => socket.end(),
};
for (const [what, answer] of Object.entries(broken)) {
  test(`a receiver that reads the request and ${what} gets it again at the next attempt, not at once`, async (t) => {
    const subscribed = await world.subscribe(inTurn(answer, status(204)));
    const { event, attempt, shown, receiver, pass } = subscribed;
    const delivery = await event();

    const first = await attempt(delivery);

    t.like(first, { kind: 'again', code: 'connection_reset' });
    t.is(receiver.arrived.length, 1);
    t.like((await shown(delivery)).attempts[0], {
      response_status: null,
      error: 'connection_reset',
    });
    pass(first.kind === 'again' ? (first.inMs ?? 0) : 0);
    t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });
    t.is(receiver.arrived.length, 2);
  });
}

test('a receiver that ends its half after the answer has answered', async (t) => {
  const answer = sayingLast('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  const { event, attempt } = await world.subscribe(answer);
  for (let count = 0; count < 3; count += 1) {
    t.deepEqual(await attempt(await event()), { kind: 'done', status: 'delivered' });
  }
});

test('a connection that was kept and then closed costs no delivery: the next one makes a new one', async (t) => {
  const sockets: Socket[] = [];
  const { event, attempt, receiver } = await world.subscribe((socket, n) => {
    sockets.push(socket);
    status(204)(socket, n);
  });
  const deps = apart(t);
  for (let count = 1; count <= 3; count += 1) {
    t.deepEqual(await attempt(await event(), deps), { kind: 'done', status: 'delivered' });
    const socket = sockets.at(-1);
    socket?.end();
    await (socket && once(socket, 'close'));
  }

  t.is(receiver.arrived.length, 3);
});

test('a kept connection that breaks under the next request fails that attempt: it may have arrived', async (t) => {
  const sockets = new Set<Socket>();
  const { event, attempt, receiver } = await world.subscribe((socket, n) => {
    if (sockets.has(socket)) {
      socket.resetAndDestroy();
      return;
    }

    sockets.add(socket);
    status(204)(socket, n);
  });
  const deps = apart(t);
  t.deepEqual(await attempt(await event(), deps), { kind: 'done', status: 'delivered' });

  t.like(await attempt(await event(), deps), { kind: 'again', code: 'connection_reset' });

  t.is(receiver.arrived.length, 2);
});
