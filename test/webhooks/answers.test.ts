import { gzipSync } from 'node:zlib';
import test from 'ava';
import { inTurn, saying, sayingLast, status, type Answer } from '../support/answers.ts';
import { sharedWebhooks } from '../support/webhooks.ts';

const api = sharedWebhooks(test);

test('each 2xx status is a delivery, and nothing is sent again', async (t) => {
  const { event, attempt, shown, receiver } = await api.subscribe();
  for (const [index, code] of [200, 201, 202, 204, 206, 299].entries()) {
    receiver.answer = status(code);
    const delivery = await event();

    t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' }, String(code));
    t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });

    t.is(receiver.arrived.length, index + 1);
    const { attempts, ...seen } = await shown(delivery);
    t.like(seen, {
      status: 'delivered',
      response_status: code,
      error: null,
      next_attempt_at: null,
    });
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: code, error: null });
    t.true((attempts[0]?.duration_ms ?? -1) >= 0);
  }
});

test('each other status is a failure with that status, and another attempt follows', async (t) => {
  const { event, attempt, shown, receiver, now } = await api.subscribe();
  const redirects = [300, 301, 302, 303, 304, 307, 308];
  const refusals = [400, 401, 403, 404, 410, 422, 429, 500, 502, 503, 504, 599];
  for (const code of [...redirects, ...refusals]) {
    receiver.answer = status(code);
    const delivery = await event();
    const error = redirects.includes(code) ? 'redirect' : 'http_error';

    t.like(await attempt(delivery), { kind: 'again', code: error }, String(code));

    const { attempts, ...seen } = await shown(delivery);
    t.like(seen, { status: 'pending', response_status: code, error });
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: code, error });
    t.true(Date.parse(seen.next_attempt_at ?? '') > now().getTime());
  }
});

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

const accepted: Readonly<Record<string, Answer>> = {
  'no body': withBody(''),
  'a body of a megabyte': withBody('x'.repeat(1_000_000)),
  'a body without end': endless,
  'a small body that unpacks to 50 MB': withBody(
    gzipSync(Buffer.alloc(50_000_000)),
    'content-encoding: gzip\r\n',
  ),
  'NUL in its body': withBody('a\0b'),
  'headers in Latin-1': saying(
    Buffer.from('HTTP/1.1 200 Schön\r\nx-a: grüße\r\ncontent-length: 0\r\n\r\n', 'latin1'),
  ),
  'a body that breaks off': sayingLast('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this'),
  'a body that ends with the connection': sayingLast('HTTP/1.1 200 OK\r\n\r\nall of it'),
};
for (const [what, answer] of Object.entries(accepted)) {
  test(`a receiver that returns 200 with ${what} has received the event`, async (t) => {
    const { event, attempt, shown, receiver } = await api.subscribe(answer);
    const delivery = await event();

    t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });

    const { attempts } = await shown(delivery);
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: 200, error: null });
    t.is(receiver.arrived.length, 1);
  });
}

const unreadable: Readonly<Record<string, [Answer, string]>> = {
  'with a header of 40 KB': [
    saying(`HTTP/1.1 200 OK\r\na: ${'b'.repeat(40_000)}\r\ncontent-length: 0\r\n\r\n`),
    'invalid_response',
  ],
  'with two lengths': [
    saying('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'),
    'invalid_response',
  ],
  'with an SSH banner': [saying('SSH-2.0-OpenSSH_9.9\r\n'), 'invalid_response'],
  'that has only an interim status': [
    sayingLast('HTTP/1.1 103 Early Hints\r\n\r\n'),
    'connection_reset',
  ],
  'with half a head': [sayingLast('HTTP/1.1 200 OK\r\na: b\r\n'), 'connection_reset'],
};
for (const [what, [answer, error]] of Object.entries(unreadable)) {
  test(`a response ${what} is no delivery: ${error}`, async (t) => {
    const { event, attempt, shown, receiver } = await api.subscribe(answer);
    const delivery = await event();

    t.like(await attempt(delivery), { kind: 'again', code: error });

    const { attempts, status: now } = await shown(delivery);
    t.is(now, 'pending');
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: null, error });
    t.is(receiver.arrived.length, 1); // The HTTP client must not repeat the request.
  });
}

const broken: Readonly<Record<string, Answer>> = {
  'resets the connection': (socket) => socket.resetAndDestroy(),
  'closes the connection': (socket) => socket.destroy(),
  'ends its half of the connection': (socket) => socket.end(),
};
for (const [what, answer] of Object.entries(broken)) {
  test(`a receiver that reads the request and ${what} gets it again at the next attempt, not at once`, async (t) => {
    const subscribed = await api.subscribe(inTurn(answer, status(204)));
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
