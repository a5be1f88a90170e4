import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { readdir, rename, unlink, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Writable } from 'node:stream';
import type { ExecutionContext } from 'ava';
import Koa from 'koa';
import type { Orm } from '../../../db/orm.ts';
import { readMultipart } from '../../../api/http/read-multipart.ts';
import { startApiProcess } from '../../support/api-process.ts';
import { newClient, type Client, type Reply } from '../../support/client.ts';
import { freshDatabase } from '../../support/database.ts';
import { beforeTests } from '../../support/kit.ts';
import { picture, video } from '../../support/media-files.ts';
import { filesOf, newFilesOf, noTemporal, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import type { Punctual } from '../../support/punctual.ts';
import { rawCall } from '../../support/raw-call.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ca, fileServer } from './support/file-server.ts';
import { answerTo, beginUpload, head, tail, write } from './support/raw-upload.ts';
import { tinyDisk } from './support/tiny-disk.ts';

const test = needs('postgres');

type Options = {
  readonly database?: { readonly url: string; readonly orm: Orm };
  readonly mediaDir?: string;
  /** A program with arguments that starts the API. */
  readonly wrapper?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** An API in its own process, with a library on the disk. */
async function libraryProcess(t: ExecutionContext, given: Options = {}) {
  const database = given.database ?? (await freshDatabase(t));
  const mediaDir = given.mediaDir ?? (await temporaryFolder(t));
  const settings = {
    ...noTemporal,
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('hex'),
    PUNCTUAL_MEDIA_DIR: mediaDir,
    PUNCTUAL_PUBLIC_URL: 'https://punctual.example',
    ...given.env,
  };
  const { url, child, log } = await startApiProcess(t, settings, given.wrapper);
  await poll(
    () => Promise.resolve(log()),
    (text) => text.includes('the database is ready'),
  );
  return {
    url,
    pid: child.pid,
    log,
    mediaDir,
    newClient: () => newClient({ url, orm: database.orm } as Punctual),
  };
}

/** A picture of this size, padded after its end. */
const pictureOf = async (bytes: number): Promise<Buffer> =>
  Buffer.concat([await picture('png')], bytes);

/** Asserts that a call was refused for lack of space, and that no file is left. */
async function mustSayFull(
  t: ExecutionContext,
  { status, headers, body }: Reply,
  { client, files }: { readonly client: Client; readonly files: () => Promise<string[]> },
) {
  t.is(status, 503);
  t.is(body.code, 'unavailable');
  t.regex(body.error, /no room for this file/v);
  t.regex(headers.get('retry-after') ?? '', /^\d+$/v);
  t.deepEqual((await client.get('/media')).body.media, []);
  t.deepEqual(await files(), []);
}

/** A library whose process may write files of at most 2 or 4 MB: a block has 512 or 1024 bytes. */
const limited = beforeTests(test, async (scope) => {
  const server = await fileServer(scope);
  const authority = path.join(await temporaryFolder(scope), 'authority.pem');
  await writeFile(authority, ca);
  const library = await libraryProcess(scope, {
    wrapper: ['sh', '-c', 'ulimit -f 4096; exec "$0" "$@"'],
    env: {
      NODE_EXTRA_CA_CERTS: authority,
      PUNCTUAL_EGRESS_ALLOW_DOWNLOADS: `127.0.0.1/32:${server.port}`,
    },
  });
  return { server, library };
});

test.serial('with a file size limit, a large upload is a 503 and leaves no file', async (t) => {
  const { library } = limited();
  const [client, files] = [await library.newClient(), await newFilesOf(library)];
  const large = await upload(library, client, { bytes: await pictureOf(8_000_000) });
  await mustSayFull(t, large, { client, files });

  const small = await upload(library, client, { bytes: await picture() });
  t.is(small.status, 201);
});

test.serial('with a file size limit, a large download is a 503 and leaves no file', async (t) => {
  const { library, server } = limited();
  const [client, files] = [await library.newClient(), await newFilesOf(library)];
  const site = server.newSite({ '/a.png': await pictureOf(8_000_000) });
  const reply = await client.post('/posts', { media_urls: [site.at('/a.png')] });

  await mustSayFull(t, reply, { client, files });
  t.deepEqual((await client.get('/posts')).body.posts, []);
});

test('while the folder of the media library is missing, uploads get 503 and the log names it', async (t) => {
  const library = await libraryProcess(t);
  const client = await library.newClient();
  const claims = path.join(library.mediaDir, 'files', 'installations');
  await poll(
    () => readdir(claims).catch(() => []),
    (names) => names.length > 0, // Later, the claim would create the folder again.
  );
  await rename(library.mediaDir, `${library.mediaDir}-away`);
  const { status, body } = await upload(library, client, { bytes: await picture() });
  t.is(status, 503);
  t.regex(body.error, /folder of media files cannot be used now/v);
  await poll(
    () => Promise.resolve(library.log()),
    (text) => text.includes(`ENOENT`) && text.includes(library.mediaDir),
  );

  await writeFile(library.mediaDir, ''); // As a folder of another user, it cannot be searched.
  t.is((await upload(library, client, { bytes: await picture() })).status, 503);
  await unlink(library.mediaDir);
  await rename(`${library.mediaDir}-away`, library.mediaDir);
  t.is((await upload(library, client, { bytes: await picture() })).status, 201);
});

test('/status says when the disk of PostgreSQL is full, and when it has room again', async (t) => {
  const folder = tinyDisk(t, 4);
  if (folder === null) {
    t.log('Only root can mount on this machine.');
    t.pass();
    return;
  }

  const { url, orm } = await freshDatabase(t);
  const sql = (statement: string) => orm.em.fork().execute<{ at: string }[]>(statement);
  const [row] = await sql("select current_setting('data_directory') as at");
  const { uid, gid } = statSync(row?.at ?? '');
  chownSync(folder, uid, gid);
  // Only temporary files go there: a checkpoint that meets a full disk would fail other tests.
  const tablespace = path.basename(folder).replaceAll('-', '_').toLowerCase();
  await sql(`create tablespace ${tablespace} location '${folder}'`);
  t.teardown(() => sql(`drop tablespace ${tablespace}`));
  await sql(
    `alter database ${new URL(url).pathname.slice(1)} set temp_tablespaces = ${tablespace}`,
  );
  const library = await libraryProcess(t, { database: { url, orm } });
  const status = async () => (await rawCall(`${library.url}/status`)).body.postgresql;
  t.is(await status(), 'ok');

  const filling = path.join(folder, 'filling');
  await writeFile(filling, Buffer.alloc(4_500_000)).catch(() => undefined);
  t.is(await poll(status, (said) => said !== 'ok'), 'takes no writes: its disk is full');

  await unlink(filling);
  t.is(await poll(status, (said) => said === 'ok'), 'ok');
});

// A disk reports only late that it is full: when the file is closed, after the rest of the upload has arrived.
test('an upload whose last bytes could not be written is never accepted', async (t) => {
  let isOver = false;
  const sink = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('full'), { code: 'ENOSPC' })),
    destroy(error, done) {
      const finish = () => (isOver ? done(error) : setTimeout(finish, 10));
      finish();
    },
  }).on('error', () => {});
  const outcome = Promise.withResolvers<unknown>();
  const app = new Koa().use(async (ctx) => {
    // A little later, after the parser has reported the end.
    ctx.req.once('end', () => setTimeout(() => (isOver = true), 50));
    await readMultipart(ctx, { sink, maxBytes: 1_000_000, stallMs: 5000 }).then(
      () => outcome.resolve('whole'),
      outcome.resolve,
    );
    ctx.body = 'done';
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const form = new FormData();
  form.append('file', new Blob(['x'.repeat(100_000)]), 'a.png');
  const { port } = server.address() as AddressInfo;
  await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: form });

  t.like(await outcome.promise, { code: 'ENOSPC' });
});

const megabyte = 1024 * 1024;
const piece = Buffer.alloc(megabyte);

/** Resets the peak memory of a process, where the system supports it. See proc(5). */
function forgetPeak(pid: number | undefined): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Not Linux, or the peak cannot be reset: the peak of the start is then included.
  }
}

/** The peak memory of a process in MB; on systems other than Linux, its current memory. */
function memoryOf(pid: number | undefined): number {
  const kilobytes =
    process.platform === 'linux'
      ? /^VmHWM:\s*(\d+)/mv.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  return Number(kilobytes) / 1024;
}

/** An MP4 box of this size that fills the rest of the file. */
function freeBox(bytes: number): Buffer {
  const box = Buffer.alloc(8);
  box.writeUInt32BE(bytes, 0);
  box.write('free', 4);
  return box;
}

/** Uploads a file of exactly 200 MB that begins with these bytes. */
async function uploadLarge(
  t: ExecutionContext,
  library: Pick<Punctual, 'url'>,
  client: Client,
  beginning: Buffer,
) {
  const request = beginUpload(t, library, client);
  const answer = answerTo(request);
  await write(request, head);
  await write(request, beginning);
  await write(request, piece.subarray(beginning.length % megabyte));
  await write(request, piece, 199);
  request.end(tail);
  return answer;
}

test('ten files of 200 MB do not grow the memory of the process', async (t) => {
  t.timeout(600_000); // Of each file.
  const library = await libraryProcess(t);
  const client = await library.newClient();
  const [still, moving] = [await picture('png'), await video('mp4')];
  const large = Buffer.concat([moving, freeBox(200 * megabyte - moving.length)]);
  await upload(library, client, { bytes: still });
  await upload(library, client, { bytes: moving });
  forgetPeak(library.pid); // The peak of the start would hide growth.
  const noted = [memoryOf(library.pid)];
  const watch = setInterval(() => noted.push(memoryOf(library.pid)), 100);
  t.teardown(() => clearInterval(watch));
  const growth = (): number => Math.max(...noted) - (noted[0] ?? 0);
  const growths: number[] = [];

  for (let count = 0; count < 10; count += 1) {
    const isPicture = count % 2 === 0;
    const beginning = isPicture ? still : large;
    const { status, body } = await uploadLarge(t, library, client, beginning);
    t.is(status, 201, JSON.stringify(body));
    // What follows the end of a picture is cut off.
    t.is(body.media.size_bytes, isPicture ? still.length : 200 * megabyte);
    await client.delete(`/media/${body.media.id}`);
    noted.push(memoryOf(library.pid));
    growths.push(growth());
  }

  // The first upload allocates the buffers of the others, none as large as a file.
  const grownMb = growths.map((one) => one.toFixed()).join(', ');
  t.log(`from ${noted[0]?.toFixed()} MB by ${grownMb} MB`);
  t.true(growth() < 100, `The process grew by ${grownMb} MB.`);
  t.is((await filesOf(library)).length, 2);
});
