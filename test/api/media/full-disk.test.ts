import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Reply } from '../../support/client.ts';
import { picture } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ca, fileServer } from './support/file-server.ts';
import { libraryProcess } from './support/library-process.ts';
import { filesOf, upload } from './support/library.ts';

const test = needs('postgres');

/** A picture of so many bytes. What comes after its end is nobody's business. */
const pictureOf = async (bytes: number): Promise<Buffer> =>
  Buffer.concat([await picture('png')], bytes);

type World = Awaited<ReturnType<typeof libraryProcess>>;

async function mustSayFull(t: ExecutionContext, { client, mediaDir }: World, reply: Reply) {
  t.is(reply.status, 503);
  t.is(reply.body.code, 'unavailable');
  t.regex(reply.body.error, /no room for this file/v);
  t.regex(reply.headers.get('retry-after') ?? '', /^\d+$/v);
  t.deepEqual((await client.get('/media')).body.media, []);
  t.deepEqual(await filesOf({ mediaDir }), []);
}

test('where a process may write no larger files, a large upload is a clear 503 and leaves nothing', async (t) => {
  // In blocks of 512 or 1024 bytes: 2 or 4 MB.
  const world = await libraryProcess(t, {
    wrapper: ['sh', '-c', 'ulimit -f 4096; exec "$0" "$@"'],
  });
  const large = await upload(world.api, world.client, { bytes: await pictureOf(8_000_000) });
  await mustSayFull(t, world, large);

  const small = await upload(world.api, world.client, { bytes: await picture() });
  t.is(small.status, 201);
});

test('where a process may write no larger files, a large download is a clear 503 and leaves nothing', async (t) => {
  const server = await fileServer(t, { '/a.png': await pictureOf(8_000_000) });
  const authority = path.join(await temporaryFolder(t), 'authority.pem');
  await writeFile(authority, ca);
  const world = await libraryProcess(t, {
    wrapper: ['sh', '-c', 'ulimit -f 4096; exec "$0" "$@"'],
    env: {
      NODE_EXTRA_CA_CERTS: authority,
      PUNCTUAL_EGRESS_ALLOW: `127.0.0.1/32:${server.port}`,
    },
  });
  const reply = await world.client.post('/posts', { media_urls: [server.at('/a.png')] });

  await mustSayFull(t, world, reply);
  t.deepEqual((await world.client.get('/posts')).body.posts, []);
});

/** Mounts a file system that is soon full. Null where the tests may not mount. */
function tinyDisk(t: ExecutionContext, megabytes: number): string | null {
  const folder = mkdtempSync(path.join(tmpdir(), 'punctual-tiny-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], {
      stdio: 'ignore',
    });
  } catch {
    rmSync(folder, { recursive: true });
    return null;
  }

  t.teardown(() => {
    execFileSync('umount', ['--lazy', folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

test('on a disk that is full, an upload is a clear 503 and leaves nothing', async (t) => {
  const mediaDir = tinyDisk(t, 4);
  if (mediaDir === null) {
    t.log('This machine lets nobody but root mount; the test above stands for this one.');
    t.pass();
    return;
  }

  const world = await libraryProcess(t, { mediaDir });
  for (let count = 0; count < 3; count += 1) {
    const large = await upload(world.api, world.client, { bytes: await pictureOf(8_000_000) });
    await mustSayFull(t, world, large);
  }

  const small = await upload(world.api, world.client, { bytes: await picture() });
  t.is(small.status, 201);
  await writeFile(path.join(mediaDir, 'filling'), Buffer.alloc(4_500_000)).catch(() => undefined);
  t.is((await world.client.delete(`/media/${small.body.media.id}`)).status, 200);
  t.deepEqual(await filesOf(world), ['filling']);
});
