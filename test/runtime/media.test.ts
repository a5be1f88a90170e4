import test, { type ExecutionContext, type TestFn } from 'ava';
import { access, readdir, stat, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createInspector } from '../../runtime/media/inspector.ts';
import { diskStorage } from '../../runtime/storage/disk-storage.ts';
import type { MediaStorage } from '../../runtime/storage/media-storage.ts';
import { s3Storage, type S3Settings } from '../../runtime/storage/s3-storage.ts';
import { newBucket } from '../support/bucket.ts';
import { animation, picture, soundOnly, turnedPicture, video } from '../support/media-files.ts';
import { needs } from '../support/needs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { listening } from '../support/listening.ts';

const inspector = createInspector({ waitMs: 300_000, timeoutMs: 300_000 });

/** Inspects these bytes under a neutral file name. */
async function inspect(t: ExecutionContext, bytes: Uint8Array | string) {
  const file = path.join(await temporaryFolder(t), 'file');
  await writeFile(file, bytes);
  return inspector.inspect(file, 'a workspace');
}

const still = { width: 30, height: 20, durationMs: null, details: { frames: 1 } };

for (const format of ['png', 'jpeg', 'webp', 'gif'] as const) {
  test(`a ${format} is an image with its size`, async (t) => {
    t.deepEqual(await inspect(t, await picture(format)), { type: `image/${format}`, ...still });
  });
}

test('an image with an orientation has its displayed size', async (t) => {
  const bytes = await turnedPicture({ width: 30, height: 20 });

  t.like(await inspect(t, bytes), { width: 20, height: 30 });
});

for (const format of ['gif', 'webp'] as const) {
  test(`an animated ${format} has the duration of its frames`, async (t) => {
    t.deepEqual(await inspect(t, await animation(format, [100, 250])), {
      type: `image/${format}`,
      width: 30,
      height: 20,
      durationMs: 350,
      details: { frames: 2 },
    });
  });
}

const videos = { mp4: 'video/mp4', mov: 'video/quicktime', webm: 'video/webm' } as const;
for (const [format, type] of Object.entries(videos)) {
  test(`a ${format} is a video with its size and its duration`, async (t) => {
    t.like(await inspect(t, await video(format as keyof typeof videos)), {
      type,
      width: 320,
      height: 180,
      durationMs: 2000,
    });
  });
}

test('a video with a rotation has its displayed size', async (t) => {
  t.like(await inspect(t, await video('mp4', { rotation: 90 })), { width: 180, height: 320 });
});

/** A PNG whose IHDR chunk has this size, with the right checksum, and no data for it. */
async function pngOf(width: number, height: number): Promise<Buffer> {
  const bytes = Buffer.from(await picture('png'));
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  const { crc32 } = await import('node:zlib');
  bytes.writeUInt32BE(crc32(bytes.subarray(12, 29)), 29);
  return bytes;
}

const refused: Readonly<Record<string, () => Promise<Uint8Array | string>>> = {
  'an empty file': async () => '',
  'plain text': async () => 'This is a letter, and not a picture.',
  'an HTML page': async () => '<html><img src=x></html>',
  'an SVG': async () => '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
  'an AVIF': () => picture('avif'),
  'a PDF': async () => '%PDF-1.7\n%âãÏÓ\n',
  'the beginning of a PNG': async () => (await picture('png')).subarray(0, 20),
  'the beginning of a JPEG': async () => (await picture('jpeg')).subarray(0, 15),
  'the beginning of an MP4': async () => (await video('mp4')).subarray(0, 60),
  'an MP4 with sound and without video': soundOnly,
  'a PNG of 20,000 × 20,000 pixels': () => pngOf(20_000, 20_000),
};
for (const [name, make] of Object.entries(refused)) {
  test(`${name} is refused, with a reason`, async (t) => {
    const facts = await inspect(t, await make());

    t.regex('refusal' in facts ? facts.refusal : JSON.stringify(facts), /^The (?:file|image) /v);
  });
}

test('an image or a video of another format is refused, with what to convert it to', async (t) => {
  const box = (brand: string) =>
    Buffer.from(`\0\0\0\u0018ftyp${brand}\0\0\0\0mif1${brand}`, 'latin1');
  const files: readonly [name: string, bytes: Uint8Array, better: string][] = [
    ['HEIC', box('heic'), 'JPEG'],
    ['AVIF', await picture('avif'), 'JPEG'],
    ['BMP', Buffer.from('BM'.padEnd(60, '\0')), 'JPEG'],
    ['FLV', Buffer.from('FLV\u0001'.padEnd(60, '\0')), 'MP4'],
    ['AVI', Buffer.from('RIFF\0\0\0\0AVI LIST'.padEnd(60, '\0')), 'MP4'],
  ];
  for (const [name, bytes, better] of files) {
    const known =
      'The file is neither an image (JPEG, PNG, GIF, WebP) nor a video (MP4, MOV, WebM).';
    const refusal = `${known} It is ${name}: convert it to ${better}.`;
    t.deepEqual(await inspect(t, bytes), { refusal });
  }
});

test('an image with the most pixels allowed is accepted', async (t) => {
  const size = { width: 10_000, height: 10_000 };

  t.like(await inspect(t, await picture('png', size)), size);
});

type Open = (t: ExecutionContext) => Promise<{
  readonly storage: MediaStorage;
  /** A folder for files to put. */
  readonly folder: string;
}>;

const newKey = (): string => crypto.randomUUID();

/** The common suite for storages. */
function storageSuite(suite: TestFn, name: string, open: Open): void {
  const put = async (t: ExecutionContext, bytes: Buffer) => {
    const { storage, folder } = await open(t);
    const [key, file] = [newKey(), path.join(folder, crypto.randomUUID())];
    await writeFile(file, bytes);
    await storage.put(key, file, { type: 'image/png', sizeBytes: bytes.length });
    const read = async (range?: Parameters<MediaStorage['open']>[1]) => {
      const stream = await storage.open(key, range);
      return stream && buffer(stream);
    };
    return { storage, key, read };
  };
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));

  suite(`${name}: a stored file reads back unchanged, as a whole and in parts`, async (t) => {
    const { read } = await put(t, bytes);

    t.deepEqual(await read(), bytes);
    t.deepEqual(await read({ start: 0, end: 0 }), bytes.subarray(0, 1));
    t.deepEqual(await read({ start: 1000, end: 200_000 }), bytes.subarray(1000, 200_001));
    t.deepEqual(await read({ start: 299_999, end: 299_999 }), bytes.subarray(299_999));
  });

  suite(`${name}: a file that was never stored, or was removed, does not exist`, async (t) => {
    const { storage, key, read } = await put(t, bytes);
    t.is(await storage.open(newKey()), null);
    await storage.remove(key);

    t.is(await read(), null);
    await t.notThrowsAsync(storage.remove(key));
    await t.notThrowsAsync(storage.remove(newKey()));
  });

  suite(`${name}: a reader that stops in the middle delays no other`, async (t) => {
    const { storage, key, read } = await put(t, Buffer.alloc(20_000_000, 'x'));
    for (let count = 0; count < 100; count += 1) {
      (await storage.open(key))?.destroy();
    }

    t.is((await read({ start: 0, end: 9 }))?.length, 10);
  });

  suite(`${name}: a file of many megabytes is stored and read`, async (t) => {
    const large = Buffer.alloc(30_000_000, 'abcdefghijk');
    const { read } = await put(t, large);

    t.true(large.equals((await read()) ?? Buffer.from('')));
  });

  suite(`${name}: storing a missing file fails, and leaves nothing`, async (t) => {
    const { storage } = await open(t);
    const key = newKey();
    const missing = path.join(await temporaryFolder(t), 'missing');
    await t.throwsAsync(storage.put(key, missing, { type: 'image/png', sizeBytes: 10 }));

    t.is(await storage.open(key), null);
    await t.throwsAsync(access(missing));
  });
}

const openDisk: Open = async (t) => {
  const folder = await temporaryFolder(t);
  return { folder, storage: diskStorage(path.join(folder, 'files')) };
};
storageSuite(test, 'disk', openDisk);

test('files are in folders by the end of their keys, readable only by their owner', async (t) => {
  const folder = await temporaryFolder(t);
  const storage = diskStorage(path.join(folder, 'files'));
  const [key, file] = [newKey(), path.join(folder, 'file')];
  await writeFile(file, 'x');
  await storage.put(key, file, { type: 'image/png', sizeBytes: 1 });

  t.deepEqual(await readdir(path.join(folder, 'files')), [key.slice(-2)]);
  t.deepEqual(await readdir(path.join(folder, 'files', key.slice(-2))), [key]);
  t.is((await stat(path.join(folder, 'files'))).mode & 0o777, 0o700);
});

for (const key of ['../../etc/passwd', '', 'a/b', '..', `${'a'.repeat(35)}/`]) {
  test(`"${key}" is not a valid key, and no file is touched`, async (t) => {
    const storage = diskStorage(await temporaryFolder(t));

    await t.throwsAsync(async () => storage.open(key), { instanceOf: TypeError });
    await t.throwsAsync(async () => storage.remove(key), { instanceOf: TypeError });
  });
}

const s3Test = needs('versitygw');

/** A storage that closes with the test. */
function s3StorageFor(t: ExecutionContext, settings: S3Settings): MediaStorage {
  const storage = s3Storage(settings);
  t.teardown(() => storage.close());
  return storage;
}

const openBucket: Open = async (t) => {
  const { settings } = await newBucket(t);
  return { folder: await temporaryFolder(t), storage: s3StorageFor(t, settings) };
};
storageSuite(s3Test, 's3', openBucket);

s3Test('files are in the bucket under media/', async (t) => {
  const { settings, keys } = await newBucket(t);
  const storage = s3StorageFor(t, settings);
  const [key, file] = [newKey(), path.join(await temporaryFolder(t), 'file')];
  await writeFile(file, 'x');
  await storage.put(key, file, { type: 'image/png', sizeBytes: 1 });

  t.deepEqual(await keys(), [`media/${key}`]);
});

test('a server without checksums gets the bytes of a file as they are', async (t) => {
  const bodies: Buffer[] = [];
  const server = createHttpServer((request, response) => {
    void buffer(request).then((body) => {
      bodies.push(body);
      response.end();
    });
  });
  const port = await listening(t, server);
  process.env['AWS_ACCESS_KEY_ID'] ??= 'x';
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'x';
  const endpoint = `http://127.0.0.1:${port}`;
  const storage = s3StorageFor(t, { bucket: 'media', endpoint, region: 'us-east-1' });
  const file = path.join(await temporaryFolder(t), 'file');
  await writeFile(file, 'the bytes');
  await storage.put(newKey(), file, { type: 'image/png', sizeBytes: 9 });

  t.deepEqual(bodies.map(String), ['the bytes']);
});

s3Test(
  'a server that is down or breaks off is unavailable; a refusal is an error for the operator',
  async (t) => {
    const { settings } = await newBucket(t);
    const rude = createServer((socket) => socket.once('data', () => socket.destroy()));
    rude.on('connection', (socket) => socket.on('error', () => {}));
    const port = await listening(t, rude);
    const file = path.join(await temporaryFolder(t), 'file');
    await writeFile(file, 'x');
    for (const endpoint of ['http://127.0.0.1:1', `http://127.0.0.1:${port}`]) {
      const storage = s3StorageFor(t, { ...settings, endpoint });
      const unavailable = { name: 'AppError', code: 'unavailable' };
      await t.throwsAsync(storage.open(newKey()), unavailable);
      await t.throwsAsync(storage.remove(newKey()), unavailable);
      await t.throwsAsync(
        storage.put(newKey(), file, { type: 'image/png', sizeBytes: 1 }),
        unavailable,
      );
    }

    const nowhere = s3StorageFor(t, { ...settings, bucket: 'no-such-bucket' });
    const error = await t.throwsAsync(nowhere.open(newKey()), { code: 'unavailable' });
    t.regex(String(error?.cause), /"no-such-bucket" of PUNCTUAL_S3_BUCKET .+ \(NoSuchBucket: /v);
  },
);
