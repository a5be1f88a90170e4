import test from 'ava';
import { egressTo, post } from './support/egress.ts';
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
