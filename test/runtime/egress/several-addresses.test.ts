import test, { type ExecutionContext } from 'ava';
import { once } from 'node:events';
import { connect as dial, type Socket, createServer, type AddressInfo } from 'node:net';
import type { buildConnector } from 'undici';
import { probeServer } from '../../../runtime/egress/probe-server.ts';
import { failure, post, recordingConnector, testEgress, turns } from './support/egress.ts';
import { httpServer, rawServer, type TestServer } from './support/servers.ts';
import { stopClock } from './support/silent-servers.ts';

const refused = (): Error => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });

/** One dialled address; the test decides its outcome. */
type Dialled = {
  readonly address: string;
  readonly fail: (error?: Error) => void;
  /** Connects it to a server and reports success. @returns our end of the connection. */
  readonly connect: (server: TestServer) => Promise<Socket>;
};

/** A connector in which each dialled address waits for the test. */
function heldConnector() {
  const dialled: Dialled[] = [];
  const connect: buildConnector.connector = ({ hostname }, callback) => {
    dialled.push({
      address: hostname,
      fail: (error = refused()) => callback(error, null),
      async connect({ port }) {
        const socket = dial(port, '127.0.0.1');
        await once(socket, 'connect');
        callback(null, socket);
        return socket;
      },
    });
  };
  const addresses = (): string[] => dialled.map(({ address }) => address);
  return { dialled, addresses, connect };
}

const [first, second, third, sixth] = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '::1'] as const;

/** A request to a server behind a name with these addresses. */
function requestTo(
  t: ExecutionContext,
  { port }: { readonly port: number },
  { answers, connect }: { answers: readonly string[]; connect: buildConnector.connector },
) {
  const allow = `127.0.0.0/8:${port},[::1]/128:${port}`;
  const egress = testEgress(t, { allow, connect, resolve: async () => answers });
  return egress.request(post(`http://hook.example.com:${port}/`));
}

test('two dead addresses of one family do not hide a live one of the other', async (t) => {
  const server = await httpServer(t, (_request, response) => response.end());
  const { dialled, connect } = recordingConnector(server.port);
  const answer = requestTo(t, server, {
    answers: [first, second, sixth],
    connect: (options, callback) => {
      if (options.hostname === sixth) {
        connect(options, callback);
      } else {
        dialled.push(options.hostname);
        callback(refused(), null);
      }
    },
  });

  t.is((await answer).status, 200);
  t.deepEqual(dialled, [first, sixth]);
});

test('addresses are dialled in turn from both families, eight at most', async (t) => {
  const { dialled, connect } = recordingConnector();
  const many = ['8.8.8.1', '8.8.8.2', '8.8.8.3', '8.8.8.4', '8.8.8.5', '8.8.8.6', '8.8.8.7'];
  const resolve = async () => [...many, '2606:4700::1', '2606:4700::2'];
  const answer = testEgress(t, { connect, resolve }).request(post('https://hook.example.com/'));

  t.is(await failure(t, answer), 'connection_refused');
  t.deepEqual(dialled, [
    '8.8.8.1',
    '2606:4700::1',
    '8.8.8.2',
    '2606:4700::2',
    '8.8.8.3',
    '8.8.8.4',
    '8.8.8.5',
    '8.8.8.6',
  ]);
});

test.serial('a silent address delays the next one by a quarter of a second', async (t) => {
  const { pass } = stopClock(t);
  const server = await httpServer(t, (_request, response) => response.end());
  const { dialled, addresses, connect } = heldConnector();
  const answer = requestTo(t, server, { answers: [first, second, sixth], connect });
  await turns(2);
  t.deepEqual(addresses(), [first]);
  pass(249);
  t.deepEqual(addresses(), [first]);
  pass(1);
  t.deepEqual(addresses(), [first, sixth]);
  pass(250);
  t.deepEqual(addresses(), [first, sixth, second]);

  await dialled[1]?.connect(server);
  t.is((await answer).status, 200);
  t.is(server.requests.length, 1);
});

test.serial('an address that fails does not delay the next one', async (t) => {
  const { pass } = stopClock(t);
  const server = await httpServer(t, (_request, response) => response.end());
  const { dialled, addresses, connect } = heldConnector();
  const answer = requestTo(t, server, { answers: [first, second, third], connect });
  await turns(2);
  dialled[0]?.fail();
  t.deepEqual(addresses(), [first, second]);
  pass(249);
  t.deepEqual(addresses(), [first, second]);
  pass(1);
  t.deepEqual(addresses(), [first, second, third]);

  dialled[2]?.fail();
  await dialled[1]?.connect(server);
  t.is((await answer).status, 200);
});

test.serial('the first connection is used, and the others close unused', async (t) => {
  const { pass } = stopClock(t);
  const server = await httpServer(t, (_request, response) => response.end());
  const received: Buffer[] = [];
  const slow = await rawServer(t, (socket) => socket.on('data', (chunk) => received.push(chunk)));
  const { dialled, addresses, connect } = heldConnector();
  const answer = requestTo(t, server, { answers: [first, second, third, sixth], connect });
  await turns(2);
  pass(250);
  await dialled[1]?.connect(server);
  const late = await dialled[0]?.connect(slow);

  t.is((await answer).status, 200);
  t.true(late?.destroyed);
  pass(1000);
  t.deepEqual(addresses(), [first, sixth]);
  t.is(server.requests.length, 1);
  t.deepEqual(received, []);
});

test.serial('a connection in progress closes when another was faster', async (t) => {
  const { pass } = stopClock(t);
  const server = await httpServer(t, (_request, response) => response.end());
  const { dialled, connect } = heldConnector();
  const pending: Socket[] = [];
  const answer = requestTo(t, server, {
    answers: [first, second],
    // undici's own connector returns the socket at once.
    connect: (options, callback) => {
      connect(options, callback);
      const socket = dial(server.port, '127.0.0.1').on('error', () => undefined);
      pending.push(socket);
      return socket;
    },
  });
  await turns(2);
  pass(250);
  await dialled[1]?.connect(server);

  t.is((await answer).status, 200);
  t.is(pending.length, 2);
  t.true(pending[0]?.destroyed);
});

test('if no address answers, the request was certainly not sent', async (t) => {
  const { dialled, connect } = heldConnector();
  const outcome = failure(t, requestTo(t, { port: 1 }, { answers: [first, sixth], connect }));
  await turns(2);
  dialled[0]?.fail(Object.assign(new Error('silent'), { code: 'UND_ERR_CONNECT_TIMEOUT' }));
  dialled[1]?.fail();

  t.is(await outcome, 'timeout');
});

test('an address that turns out to be another one is not used, and no other is dialled', async (t) => {
  const server = await rawServer(t, () => {});
  const { dialled, addresses, connect } = heldConnector();
  const egress = testEgress(t, {
    connect,
    resolve: async () => ['93.184.216.34', '93.184.216.35'],
  });
  const outcome = failure(t, egress.request(post('https://hook.example.com/')));
  await turns(2);
  const socket = await dialled[0]?.connect(server);

  t.is(await outcome, 'blocked_destination');
  t.true(socket?.destroyed);
  t.deepEqual(addresses(), ['93.184.216.34']);
});

test('a server that closes accepted connections counts as unreachable, not as one without TLS', async (t) => {
  const server = createServer((socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  t.deepEqual(await probeServer('127.0.0.1', port, {}), {
    kind: 'unreachable',
    said: 'the connection was closed',
  });
});
