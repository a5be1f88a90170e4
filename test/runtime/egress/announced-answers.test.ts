import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { egressTo, failure, file, post } from './support/egress.ts';
import { at, okay, rawServer } from './support/servers.ts';

const early = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';

test('informational responses before the answer are skipped', async (t) => {
  const server = await rawServer(t, (socket) =>
    socket.on('data', () => socket.write(early.repeat(3) + okay)),
  );
  const egress = egressTo(t, server);
  for (let count = 0; count < 2; count += 1) {
    const answer = await egress.request(post(at(server)));
    t.like(answer, { status: 200, headers: { 'content-length': '2' } });
    t.is(answer.body.toString(), 'ok');
  }
});

const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

for (const [name, begin, piece] of [
  ['informational responses', '', early.repeat(1500)],
  ['chunk extensions', `${chunked}1;`, 'a'.repeat(65_536)],
  ['digits of a chunk size', chunked, '0'.repeat(65_536)],
] as const) {
  test.serial(
    `a server that sends ${name} without an end is left before they cost seconds`,
    async (t) => {
      let sent = 0;
      const server = await rawServer(t, (socket) =>
        socket.once('data', async () => {
          socket.write(begin);
          while (!socket.destroyed) {
            sent += piece.length;
            await (socket.write(piece)
              ? setImmediate()
              : new Promise((ready) => socket.once('drain', ready).once('close', ready)));
          }
        }),
      );
      const egress = egressTo(t, server);
      const answer = egress.request(post(at(server), { timeoutMs: 20_000 }));
      await (begin === '' ? failure(t, answer) : t.notThrowsAsync(answer));
      const download = egress.download(file(at(server), { timeoutMs: 20_000, stallMs: 20_000 }));
      await t.throwsAsync(async () => (await download).body.toArray());
      t.true(sent < 2 * 300 * 2 ** 20, `${sent} bytes were sent`);
    },
  );
}
