import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { s3Storage } from '../../runtime/storage/s3-storage.ts';
import { newBucket } from '../support/bucket.ts';
import { needs } from '../support/needs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('versitygw');

test('readers that do not read their files do not block storing, reading and removing files', async (t) => {
  const { settings } = await newBucket(t);
  const storage = s3Storage(settings);
  t.teardown(() => storage.close());
  const [key, file] = [crypto.randomUUID(), path.join(await temporaryFolder(t), 'file')];
  const bytes = Buffer.alloc(10_000_000, 'abc');
  await writeFile(file, bytes);
  const about = { type: 'image/png', sizeBytes: bytes.length };
  await storage.put(key, file, about);
  // More than the client's default of 50 sockets.
  const readers = await Promise.all(Array.from({ length: 60 }, () => storage.open(key)));
  t.teardown(() => readers.forEach((reader) => reader?.destroy()));

  const other = crypto.randomUUID();
  await t.notThrowsAsync(storage.put(other, file, about));
  const stream = await storage.open(other);
  t.true(stream !== null && bytes.equals(await buffer(stream)));
  await t.notThrowsAsync(storage.remove(other));
});

test('a reader that ends early gets its own error, and none of a broken connection', async (t) => {
  const { settings } = await newBucket(t);
  const storage = s3Storage(settings);
  t.teardown(() => storage.close());
  const [key, file] = [crypto.randomUUID(), path.join(await temporaryFolder(t), 'file')];
  await writeFile(file, Buffer.alloc(500_000, 'x'));
  await storage.put(key, file, { type: 'video/mp4', sizeBytes: 500_000 });
  const stream = await storage.open(key, { start: 1, end: 499_999 });
  const failed = stream && once(stream, 'error');
  for await (const _ of stream ?? []) {
    break;
  }

  t.like(await failed, [{ name: 'AbortError' }]);
});
