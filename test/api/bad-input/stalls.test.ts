import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { sharedApi } from '../../support/kit.ts';

const bodyMs = 1000;
const api = sharedApi(test, { bodyMs });

/** A request that announces a hundred bytes and sends one. */
async function stalled(t: ExecutionContext, key: string, path = '/api/v1/posts') {
  const { hostname, port } = new URL(api.punctual.url);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  let answer = '';
  socket.on('error', () => undefined).on('data', (chunk) => (answer += String(chunk)));
  const closed = new Promise((resolve) => socket.once('close', resolve)); // By a reset, because the client keeps sending.
  await once(socket, 'connect');
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: punctual.example',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    'content-length: 100',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n{`);
  return { socket, closed, answer: () => answer };
}

/** Keeps sending single bytes until the connection is closed. */
function drip(t: ExecutionContext, socket: Socket): void {
  const timer = setInterval(() => socket.write(' '), 100);
  t.teardown(() => clearInterval(timer));
}

test('a stalled JSON body is refused after its time limit, and its connection is closed', async (t) => {
  const { key } = await api.newClient();
  const { closed, answer } = await stalled(t, key);
  await closed;

  t.regex(answer(), /^HTTP\/1\.1 400 /v);
  t.regex(answer(), /The request body did not come within 1 s\./v);
});

test('a body that arrives byte by byte has the same time limit', async (t) => {
  const { key } = await api.newClient();
  const { socket, closed, answer } = await stalled(t, key);
  drip(t, socket);
  await closed;

  t.regex(answer(), /The request body did not come within 1 s\./v);
});

for (const [what, path, status] of [
  ['to a call with a wrong key', '/api/v1/posts', 401],
  ['to an unknown path', '/api/v1/nothing', 404],
  ['with an unsupported method', '/api/v1/me', 405],
] as const) {
  test(`a request ${what} that keeps sending after its response is disconnected`, async (t) => {
    const { socket, closed, answer } = await stalled(t, 'svc_live_wrong', path);
    drip(t, socket);
    await closed;

    t.true(answer().startsWith(`HTTP/1.1 ${status} `), answer());
  });
}

test('many stalled bodies do not delay other clients', async (t) => {
  const client = await api.newClient();
  const others = await Promise.all(Array.from({ length: 100 }, () => stalled(t, client.key)));

  t.is((await client.post('/posts', { body: 'x' })).status, 201);
  await Promise.all(others.map(({ closed }) => closed));
  t.is(others.filter(({ answer }) => answer().startsWith('HTTP/1.1 400 ')).length, 100);
});
