import { s3Storage } from '../../../runtime/storage/s3-storage.ts';
import { newBucket } from '../../support/bucket.ts';
import { newClient } from '../../support/client.ts';
import { beforeTests, sharedApi } from '../../support/kit.ts';
import { picture, video } from '../../support/media-files.ts';
import {
  linkTo,
  newFilesOf,
  noTemporal,
  rowsOf,
  startLibrary,
  upload,
} from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { storeFile } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';
import { ca, fileServer } from './support/file-server.ts';

// In series, because they check and sweep the folder of one library.
const test = needs('postgres').serial;
const api = sharedApi(needs('postgres'), { temporalEnv: noTemporal });

async function workspace() {
  const { punctual } = api;
  const client = await api.newClient();
  const channel = await storeChannel(punctual, client.workspaceId);
  const newFile = async (): Promise<{ id: string; url: string }> =>
    (await upload(punctual, client, { bytes: await picture() })).body.media;
  const schedule = (id: string) =>
    client.post('/posts', {
      body: 'Look',
      channel_ids: [channel],
      media_ids: [id],
      schedule_in_minutes: 1000,
    });
  return { client, files: await newFilesOf(punctual), newFile, schedule };
}

test('a file that a scheduled post uses cannot be deleted, and can once the post is cancelled', async (t) => {
  const { client, newFile, schedule } = await workspace();
  const { id } = await newFile();
  const { body } = await schedule(id);
  const { status, body: refusal } = await client.delete(`/media/${id}`);

  t.is(status, 409);
  t.like(refusal, { code: 'media_in_use' });
  t.true(refusal.error.includes(body.post.id));
  t.is((await client.get(`/media/${id}`)).status, 200);
  await client.post(`/posts/${body.post.id}/cancel`, {});
  t.is((await client.delete(`/media/${id}`)).status, 200);
});

test('a file of a draft can be deleted, and the draft loses it', async (t) => {
  const { client, newFile } = await workspace();
  const { id, url } = await newFile();
  const { body } = await client.post('/posts', { body: 'Look', media_ids: [id] });
  t.is(body.post.media[0].url, url);

  t.is((await client.delete(`/media/${id}`)).status, 200);
  t.deepEqual((await client.get(`/posts/${body.post.id}`)).body.post.media, []);
  t.is((await fetch(linkTo(api.punctual, url))).status, 404);
});

test('a deletion and a schedule of the same file at once: one of them wins, 200 times', async (t) => {
  const { client, files, schedule } = await workspace();
  const file = { name: 'a.png', type: 'image/png', bytes: await picture(), width: 30, height: 20 };
  const outcomes: string[] = [];
  for (let round = 0; round < 200; round += 1) {
    const id = await storeFile(api.punctual.deps, client.workspaceId, file);
    const [deleted, scheduled] = await Promise.all([client.delete(`/media/${id}`), schedule(id)]);
    outcomes.push(`${deleted.status} ${scheduled.status}`);
    t.is((await client.get(`/media/${id}`)).status, deleted.status === 200 ? 404 : 200);
  }

  const odd = outcomes.filter((outcome) => !['200 400', '409 201'].includes(outcome));
  t.deepEqual(odd, []);
  t.is((await files()).length, outcomes.filter((each) => each === '409 201').length);
});

const withBucket = needs('postgres', 'versitygw').serial;

const bucketApi = beforeTests(needs('postgres', 'versitygw'), async (scope) => {
  const bucket = await newBucket(scope);
  const storage = s3Storage(bucket.settings);
  scope.teardown(() => storage.close());
  const server = await fileServer(scope);
  const options = { ca, allowPorts: [server.port], media: { storage } };
  return { bucket, server, punctual: await startLibrary(scope, options) };
});

/** A workspace of an API whose files are in a bucket, and a function that lists its new objects. */
async function inBucket() {
  const { bucket, server, punctual } = bucketApi();
  const site = server.newSite({ '/a.png': await picture(), '/b': Buffer.from('b') });
  const before = new Set(await bucket.keys());
  const keys = async () => (await bucket.keys()).filter((key) => !before.has(key));
  const files = await newFilesOf(punctual);
  return { site, punctual, client: await newClient(punctual), keys, files };
}

withBucket(
  'with a bucket, files are only there, and links serve them fully and in ranges',
  async (t) => {
    const { punctual, client, keys, files } = await inBucket();
    const bytes = await video('mp4');
    const { status, body } = await upload(punctual, client, { bytes, fileName: 'a.mp4' });

    t.is(status, 201);
    t.deepEqual(await keys(), [`media/${body.media.id}`]);
    t.deepEqual(await files(), []);
    const link = linkTo(punctual, body.media.url);
    t.deepEqual(Buffer.from(await (await fetch(link)).arrayBuffer()), bytes);
    const part = await fetch(link, { headers: { range: 'bytes=10-19' } });
    t.is(part.status, 206);
    t.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(10, 20));
  },
);

withBucket('with a bucket, a refused post leaves no downloads', async (t) => {
  const { site, punctual, client, keys, files } = await inBucket();
  const { status } = await client.post('/posts', {
    media_urls: [site.at('/a.png'), site.at('/b')],
  });

  t.is(status, 400);
  t.deepEqual(await keys(), []);
  t.deepEqual(await files(), []);
  t.is(await rowsOf(punctual, client.workspaceId), 0);
});

withBucket(
  'while the bucket is unavailable, uploads and links answer 503 and no row is inserted',
  async (t) => {
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
  },
);
