import test from 'ava';
import { egressTo, post, watchedEgress } from './support/egress.ts';
import { at, okay, rawServer } from './support/servers.ts';
import { answeringServer } from './support/silent-servers.ts';

const [goOn, early] = [
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n',
];
for (const announced of [early.repeat(3), goOn, goOn + early + goOn]) {
  test(`informational responses before the answer are skipped: ${announced.match(/1\d\d/gv)}`, async (t) => {
    const server = await rawServer(t, (socket) =>
      socket.on('data', () => socket.write(announced + okay)),
    );
    const egress = egressTo(t, server);

    for (let count = 0; count < 2; count += 1) {
      const answer = await egress.request(post(at(server)));
      t.like(answer, { status: 200, headers: { 'content-length': '2' } });
      t.is(answer.body.toString(), 'ok');
    }
  });
}

test('an answer after a separate 100 Continue is complete', async (t) => {
  const { server, answered } = await answeringServer(t, goOn);
  const { egress, came } = watchedEgress(t, server);
  const answer = egress.request(post(at(server)));
  const socket = await answered;
  await came(goOn.length);
  socket.write('HTTP/1.1 200 OK\r\ncontent-length: 25\r\n\r\n');
  await came(socket.bytesWritten);
  socket.write(goOn);

  t.is((await answer).body.toString(), goOn);
});
