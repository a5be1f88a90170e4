import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { diskStorage } from '../../../runtime/storage/disk-storage.ts';
import type { MediaStorage } from '../../../runtime/storage/media-storage.ts';
import { newClient } from '../../support/client.ts';
import { picture } from '../../support/media-files.ts';
import { ownPool } from '../../support/kit.ts';
import { linkTo, startLibrary, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const test = needs('postgres');

test('a client that does not read a file link holds no open file', async (t) => {
  const opened: Readable[] = [];
  const disk = diskStorage(await temporaryFolder(t));
  const storage: MediaStorage = {
    ...disk,
    async open(...args) {
      const stream = await disk.open(...args);
      opened.push(...(stream ? [stream] : []));
      return stream;
    },
  };
  const punctual = await startLibrary(t, {
    media: { storage },
    readers: { bytesPerSecond: 1, windowMs: 500 },
  });
  // More than the buffers of both ends of a connection.
  const bytes = Buffer.concat([await picture('png'), Buffer.alloc(30_000_000)]);
  const { body } = await upload(punctual, await newClient(punctual), { bytes });
  const { hostname, port, pathname } = new URL(linkTo(punctual, body.media.url));
  const socket = connect(Number(port), hostname)
    .on('error', () => undefined)
    .pause();
  t.teardown(() => socket.destroy());
  socket.write(`GET ${pathname} HTTP/1.1\r\nhost: punctual.example\r\n\r\n`);
  await poll(
    () => Promise.resolve(opened.map(({ destroyed }) => destroyed)),
    ([isClosed]) => isClosed === true,
  );

  const whole = await fetch(linkTo(punctual, body.media.url));
  t.true(bytes.equals(Buffer.from(await whole.arrayBuffer())));
});

test('many requests for unknown links leave database connections for other clients', async (t) => {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  const blocked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holding = ownPool(t, punctual.databaseUrl)
    .em.fork()
    .transactional(async (em) => {
      await em.execute('lock table media_files in access exclusive mode');
      held.resolve();
      await blocked.promise;
    });
  await held.promise;
  // More than the API has database connections.
  const crowd = Array.from({ length: 40 }, (_, index) =>
    fetch(`${punctual.url}/files/${String(index).padStart(32, '0')}/x.png`),
  );

  t.is((await client.get('/me')).status, 200);
  t.is((await client.get('/posts')).status, 200);
  blocked.resolve();
  await holding;
  t.deepEqual(new Set((await Promise.all(crowd)).map(({ status }) => status)), new Set([404]));
});
