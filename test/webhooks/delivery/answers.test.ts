import { gzipSync } from 'node:zlib';
import test from 'ava';
import { saying, sayingLast, type Answer } from '../support/answers.ts';
import { sharedWorld } from '../support/shared-world.ts';

const world = sharedWorld(test);

/** How much of an answer's body is looked at, in bytes. */
const cap = 2048;

const withBody = (body: string | Buffer, header = ''): Answer =>
  saying(
    Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\n${header}content-length: ${body.length}\r\n\r\n`),
      Buffer.from(body),
    ]),
  );

const endless: Answer = (socket) => {
  socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
  const drip = (): void => {
    if (socket.writable) {
      socket.write('a\r\n0123456789\r\n', () => setImmediate(drip));
    }
  };
  drip();
};

const taken: Readonly<Record<string, Answer>> = {
  'no body': withBody(''),
  'as much body as is looked at': withBody('x'.repeat(cap)),
  'a byte more body than is looked at': withBody('x'.repeat(cap + 1)),
  'a megabyte of body': withBody('x'.repeat(1_000_000)),
  'a body without end': endless,
  'a small body that unpacks to 50 MB': withBody(
    gzipSync(Buffer.alloc(50_000_000)),
    'content-encoding: gzip\r\n',
  ),
  'a body that lies about being packed': withBody('not gzip', 'content-encoding: gzip\r\n'),
  'NUL in its body': withBody('a\0b'),
  'a body that is not UTF-8': withBody(Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80])),
  'headers in Latin-1': saying(
    Buffer.from('HTTP/1.1 200 Schön\r\nx-a: grüße\r\ncontent-length: 0\r\n\r\n', 'latin1'),
  ),
  'a body that breaks off': sayingLast('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this'),
  'a body that ends with the connection': sayingLast('HTTP/1.1 200 OK\r\n\r\nall of it'),
  '103 Early Hints first': saying(
    'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
  ),
};
for (const [what, answer] of Object.entries(taken)) {
  test(`a receiver that answers 200 with ${what} has taken the event`, async (t) => {
    const { event, attempt, shown, receiver } = await world.subscribe(answer);
    const delivery = await event();

    t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });

    const { attempts } = await shown(delivery);
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: 200, error: null });
    t.is(receiver.arrived.length, 1);
  });
}

const broken: Readonly<Record<string, [Answer, string]>> = {
  'with a header of 40 KB': [
    saying(`HTTP/1.1 200 OK\r\na: ${'b'.repeat(40_000)}\r\ncontent-length: 0\r\n\r\n`),
    'invalid_response',
  ],
  'with two lengths': [
    saying('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'),
    'invalid_response',
  ],
  'in the words of SSH': [saying('SSH-2.0-OpenSSH_9.9\r\n'), 'invalid_response'],
  'with a status of four digits': [
    saying('HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n'),
    'invalid_response',
  ],
  'that announces one and ends': [
    sayingLast('HTTP/1.1 103 Early Hints\r\n\r\n'),
    'connection_reset',
  ],
  'by status 199 alone': [
    sayingLast('HTTP/1.1 199 Odd\r\ncontent-length: 0\r\n\r\n'),
    'connection_reset',
  ],
  'with half a head': [sayingLast('HTTP/1.1 200 OK\r\na: b\r\n'), 'connection_reset'],
};
for (const [what, [answer, error]] of Object.entries(broken)) {
  test(`an answer ${what} is no delivery: ${error}`, async (t) => {
    const { event, attempt, shown, receiver } = await world.subscribe(answer);
    const delivery = await event();

    t.like(await attempt(delivery), { kind: 'again', code: error });

    const { attempts, status } = await shown(delivery);
    t.is(status, 'pending');
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: null, error });
    t.is(receiver.arrived.length, 1); // It is not sent again behind the attempt's back.
  });
}

test('a packed answer is shown as it came, not unpacked', async (t) => {
  const packed = gzipSync(Buffer.alloc(1_000_000, 'a'));
  const answer = withBody(packed, 'content-encoding: gzip\r\n');
  const { client, webhookId } = await world.subscribe(answer);

  const { body } = await client.post(`/webhooks/${webhookId}/test`);

  const seen: string = body.delivery.response_body;
  t.true(seen.length > 0 && seen.length <= packed.length);
  t.false(seen.includes('aaaaaaaa'));
});
