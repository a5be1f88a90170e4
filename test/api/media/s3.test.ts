import type { ExecutionContext } from 'ava';
import { s3Storage } from '../../../runtime/storage/s3-storage.ts';
import { newBucket } from '../../support/bucket.ts';
import { newClient } from '../../support/client.ts';
import { picture, video } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { startLibrary } from './support/start-library.ts';
import { ca, fileServer } from './support/file-server.ts';
import { filesOf, linkTo, rowsOf, upload } from './support/library.ts';

const test = needs('postgres', 'versitygw');

async function begin(t: ExecutionContext) {
  const bucket = await newBucket(t);
  const storage = s3Storage(bucket.settings);
  t.teardown(() => storage.close());
  const server = await fileServer(t, { '/a.png': await picture(), '/b': Buffer.from('b') });
  const punctual = await startLibrary(t, { ca, allowPorts: [server.port], media: { storage } });
  return { bucket, server, punctual, client: await newClient(punctual) };
}

test('with a bucket, files are in it and nowhere else, and links serve them whole and in parts', async (t) => {
  const { bucket, punctual, client } = await begin(t);
  const bytes = await video('mp4');
  const { status, body } = await upload(punctual, client, { bytes, fileName: 'a.mp4' });

  t.is(status, 201);
  t.deepEqual(await bucket.keys(), [`media/${body.media.id}`]);
  t.deepEqual(await filesOf(punctual), []);
  const link = linkTo(punctual, body.media.url);
  t.deepEqual(Buffer.from(await (await fetch(link)).arrayBuffer()), bytes);
  const part = await fetch(link, { headers: { range: 'bytes=10-19' } });
  t.is(part.status, 206);
  t.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(10, 20));
});

test('with a bucket, a deleted file is gone from it', async (t) => {
  const { bucket, punctual, client } = await begin(t);
  const { body } = await upload(punctual, client, { bytes: await picture() });
  await client.delete(`/media/${body.media.id}`);

  t.deepEqual(await bucket.keys(), []);
});

test('with a bucket, a post that is refused leaves nothing of its downloads', async (t) => {
  const { bucket, server, punctual, client } = await begin(t);
  const { status } = await client.post('/posts', {
    media_urls: [server.at('/a.png'), server.at('/b')],
  });

  t.is(status, 400);
  t.deepEqual(await bucket.keys(), []);
  t.deepEqual(await filesOf(punctual), []);
  t.is(await rowsOf(punctual, client.workspaceId), 0);
});

test('while the bucket is away, uploads and links answer 503 and nothing is made', async (t) => {
  const { settings } = await newBucket(t);
  const storage = s3Storage({ ...settings, endpoint: 'http://127.0.0.1:1' });
  t.teardown(() => storage.close());
  const punctual = await startLibrary(t, { media: { storage } });
  const client = await newClient(punctual);
  const { status, headers, body } = await upload(punctual, client, { bytes: await picture() });

  t.is(status, 503);
  t.is(body.code, 'unavailable');
  t.truthy(headers.get('retry-after'));
  t.deepEqual((await client.get('/media')).body.media, []);
});
