import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { sharedApi, type SharedApi } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { linkTo, noTemporal, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';

const test = needs('postgres');

/** In bytes: more than the buffers of both ends of a connection. */
const size = 40_000_000;
const impatientMs = 1500;
const impatient = sharedApi(test, {
  temporalEnv: noTemporal,
  readers: { bytesPerSecond: 3_000_000, windowMs: impatientMs },
});
/** A reader at 1 MB/s makes progress at most every 2 s, because systems pass on megabytes at a time. */
const patient = sharedApi(test, {
  temporalEnv: noTemporal,
  readers: { bytesPerSecond: 10_000, windowMs: 15_000 },
});

/** Requests a large file without reading the response. */
async function ask(t: ExecutionContext, { punctual, newClient }: SharedApi): Promise<Socket> {
  const bytes = Buffer.concat([await picture('png'), Buffer.alloc(size)]);
  const { body } = await upload(punctual, await newClient(), { bytes });
  const { hostname, port, pathname } = new URL(linkTo(punctual, body.media.url));
  const socket = connect(Number(port), hostname).pause();
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(`GET ${pathname} HTTP/1.1\r\nhost: punctual.example\r\n\r\n`);
  await once(socket, 'connect');
  return socket;
}

/** Reads this much every 50 ms until the end of the file or the connection. @returns the number of bytes read. */
async function readSlowly(socket: Socket, pieceBytes: number): Promise<number> {
  let read = 0;
  while (read < size && !socket.readableEnded && !socket.destroyed) {
    const wanted = Math.min(pieceBytes, socket.readableLength);
    read += (wanted > 0 ? (socket.read(wanted) as Buffer) : (socket.read(0), Buffer.of())).length;
    await sleep(50);
  }

  return read;
}

test('a client that reads too slowly on average is disconnected, even if it never stops', async (t) => {
  const socket = await ask(t, impatient);
  const read = await readSlowly(socket, 50_000); // A third of the minimum.

  t.true(read < size, String(read));
});

test('a slow client above the minimum gets the whole file', async (t) => {
  const socket = await ask(t, patient);
  const read = await readSlowly(socket, 1_000_000);

  t.true(read >= size, String(read));
});

test('a client that reads nothing is disconnected, even while it keeps sending', async (t) => {
  const socket = await ask(t, impatient);
  const sending = setInterval(() => socket.write('G'), 100);
  t.teardown(() => clearInterval(sending));
  await sleep(3 * impatientMs); // Does not read.
  const read = await readSlowly(socket, 10_000_000);

  t.true(read < size, String(read));
});
