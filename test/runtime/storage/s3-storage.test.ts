import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { s3Storage } from '../../../runtime/storage/s3-storage.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { newBucket } from '../../support/bucket.ts';
import { needs } from '../../support/needs.ts';
import { newKey, storageSuite } from './suite.ts';

const test = needs('versitygw');

storageSuite(test, 's3', async (t) => {
  const { settings } = await newBucket(t);
  const storage = s3Storage(settings);
  t.teardown(() => storage.close());
  return { folder: await temporaryFolder(t), storage };
});

test('files are in the bucket under media/', async (t) => {
  const { settings, keys } = await newBucket(t);
  const storage = s3Storage(settings);
  t.teardown(() => storage.close());
  const [key, file] = [newKey(), path.join(await temporaryFolder(t), 'file')];
  await writeFile(file, 'x');
  await storage.put(key, file, { type: 'image/png', sizeBytes: 1 });

  t.deepEqual(await keys(), [`media/${key}`]);
});

test('a server that is away or breaks off is unavailable; one that refuses is for the operator', async (t) => {
  const { settings } = await newBucket(t);
  const rude = createServer((socket) => socket.once('data', () => socket.destroy()));
  rude.on('connection', (socket) => socket.on('error', () => {}));
  rude.listen(0, '127.0.0.1');
  await once(rude, 'listening');
  t.teardown(() => rude.close());
  const file = path.join(await temporaryFolder(t), 'file');
  await writeFile(file, 'x');
  const { port } = rude.address() as AddressInfo;
  for (const endpoint of ['http://127.0.0.1:1', `http://127.0.0.1:${port}`]) {
    const storage = s3Storage({ ...settings, endpoint });
    t.teardown(() => storage.close());
    const unavailable = { name: 'AppError', code: 'unavailable' };
    await t.throwsAsync(storage.open(newKey()), unavailable);
    await t.throwsAsync(storage.remove(newKey()), unavailable);
    await t.throwsAsync(
      storage.put(newKey(), file, { type: 'image/png', sizeBytes: 1 }),
      unavailable,
    );
  }

  const nowhere = s3Storage({ ...settings, bucket: 'no-such-bucket' });
  t.teardown(() => nowhere.close());
  await t.throwsAsync(nowhere.open(newKey()), { name: 'NoSuchBucket' });
});
