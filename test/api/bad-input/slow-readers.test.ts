import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { sharedApi, type SharedApi } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { linkTo, noTemporal, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';

const test = needs('postgres');

/** In bytes. More than the buffers of both ends of a connection hold. */
const size = 40_000_000;
const impatientMs = 1500;
const impatient = sharedApi(test, {
  temporalEnv: noTemporal,
  readers: { bytesPerSecond: 3_000_000, windowMs: impatientMs },
});
/** A reader at 1 MB/s takes something every 2 s at the best: megabytes are handed over at a time. */
const patient = sharedApi(test, {
  temporalEnv: noTemporal,
  readers: { bytesPerSecond: 10_000, windowMs: 15_000 },
});

/** Asks for a large file, of which nothing is read yet. */
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

/** Reads so much every 50 ms until all of it is there or the connection ends. @returns how much there was. */
async function readSlowly(socket: Socket, pieceBytes: number): Promise<number> {
  let read = 0;
  while (read < size && !socket.readableEnded && !socket.destroyed) {
    const wanted = Math.min(pieceBytes, socket.readableLength);
    read += (wanted > 0 ? (socket.read(wanted) as Buffer) : (socket.read(0), Buffer.of())).length;
    await sleep(50);
  }

  return read;
}

test('a reader that takes less than it must on average is cut off, though it never stops', async (t) => {
  const socket = await ask(t, impatient);
  const read = await readSlowly(socket, 50_000); // A third of what it must.

  t.true(read < size, String(read));
});

test('a reader that is slow and takes what it must gets the whole file', async (t) => {
  const socket = await ask(t, patient);
  const read = await readSlowly(socket, 1_000_000);

  t.true(read >= size, String(read));
});

test('a reader that takes nothing is cut off, also while it goes on sending', async (t) => {
  const socket = await ask(t, impatient);
  const sending = setInterval(() => socket.write('G'), 100);
  t.teardown(() => clearInterval(sending));
  await sleep(3 * impatientMs); // Reads nothing.
  const read = await readSlowly(socket, 10_000_000);

  t.true(read < size, String(read));
});
