import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { EgressError } from '../../../runtime/egress/egress.ts';
import { egressTo, failure, post, testEgress } from './support/egress.ts';
import { answering, httpServer, okay, rawServer } from './support/servers.ts';

const at = ({ port }: { port: number }) => `http://127.0.0.1:${port}/`;
const piece = Buffer.alloc(64 * 1024, 7);

/** A stream of `count` pieces that notes how many were taken from it. */
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

test('a body comes over as it is read, with its length', async (t) => {
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

test('of a large body only a little is read ahead of a slow server', async (t) => {
  const taken = Promise.withResolvers<Socket>();
  const server = await rawServer(t, (socket) => {
    socket.once('readable', () => taken.resolve(socket));
  });
  const source = pieces(1600);
  const sizeBytes = 1600 * piece.length;
  const request = egressTo(t, server).request(
    post(at(server), { body: { stream: source.stream, sizeBytes }, timeoutMs: 30_000 }),
  );
  const socket = await taken.promise;
  await sleep(300);
  const ahead = source.taken;

  let length = 0;
  const hash = createHash('sha256');
  let head = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    head += length === 0 ? String(chunk).split('\r\n\r\n')[0] : '';
    const body = length === 0 ? chunk.subarray(Buffer.byteLength(head) + 4) : chunk;
    length += body.length;
    hash.update(body);
    if (length >= sizeBytes) {
      socket.write(okay);
      break;
    }
  }

  t.true(ahead < 400, `${ahead} pieces of 1600 were read ahead`);
  t.is((await request).status, 200);
  const whole = createHash('sha256');
  for (let count = 0; count < 1600; count += 1) {
    whole.update(piece);
  }
  t.is(hash.digest('hex'), whole.digest('hex'));
});

test('a server that refuses before it has read all is heard', async (t) => {
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

test('a body that fails ends the request with the cause, and counts as maybe sent', async (t) => {
  const server = await rawServer(t, () => {});
  const broken = new Error('The disk broke.');
  async function* breaking() {
    yield piece;
    throw broken;
  }
  const request = egressTo(t, server).request(
    post(at(server), { body: { stream: Readable.from(breaking()), sizeBytes: 1_000_000 } }),
  );
  const error = await t.throwsAsync(request, { instanceOf: EgressError });

  t.is(error?.cause, broken);
  t.true(error?.maybeSent);
});

for (const [what, sizeBytes] of [
  ['shorter', piece.length + 1],
  ['longer', piece.length - 1],
] as const) {
  test(`a body that is ${what} than it was said to be does not count as sent`, async (t) => {
    const server = await httpServer(t, (_request, response) => response.end('taken'));
    const body = { stream: pieces(1).stream, sizeBytes };
    const request = egressTo(t, server).request(post(at(server), { body }));

    t.is(await failure(t, request), 'connection_reset, maybe sent');
    t.deepEqual(server.requests, []);
  });
}

test('a body whose request never leaves is not read, and let go', async (t) => {
  const { stream } = pieces(1);
  const body = { stream, sizeBytes: piece.length };
  const attempt = testEgress(t).request(post('https://10.0.0.1/', { body }));

  t.is(await failure(t, attempt), 'blocked_destination');
  t.true(stream.destroyed);
});

test('a request that is given up lets its body go', async (t) => {
  const server = await rawServer(t, () => {});
  const source = pieces(10_000);
  const egress = egressTo(t, server);
  const body = { stream: source.stream, sizeBytes: 10_000 * piece.length };
  const attempt = egress.request(post(at(server), { body, timeoutMs: 200 }));

  t.is(await failure(t, attempt), 'timeout, maybe sent');
  if (!source.stream.closed) {
    await once(source.stream, 'close');
  }
  t.true(source.stream.destroyed);
});
