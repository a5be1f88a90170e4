import {
  AppBskyEmbedVideo,
  AppBskyEmbedExternal,
  AppBskyEmbedImages,
  type BlobRef,
} from '@atproto/api';
import type { ExecutionContext } from 'ava';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import sharp from 'sharp';
import { blueskyNetwork } from '../../../networks/bluesky/adapter.ts';
import { picture } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { openConnection, waysOutTo } from '../connection.ts';
import { fileOf, videoFile, pictureFile } from '../files.ts';
import { partsWith, publish, nextStep, partsOf } from '../publish.ts';
import { blobBytes, connected } from './bench.ts';
import { processed, videoServiceBefore, type ServiceAnswers } from './video-service.ts';
import { listening } from '../../support/listening.ts';

const test = needs('pds');

test('a video is live as a video', async (t) => {
  const { person, records, connection } = await connected(t);
  const file = await videoFile();
  await publish(blueskyNetwork, connection, partsWith([file], ''));

  const [live] = await records();
  const embed = live?.record.embed;
  t.like(embed, { $type: 'app.bsky.embed.video', aspectRatio: { width: 320, height: 180 } });
  const bytes = AppBskyEmbedVideo.isMain(embed) && (await blobBytes(person.agent, embed.video));
  t.deepEqual(bytes, file.bytes);
});

// The video service.

/** Of a database, ten minutes behind the worker's. */
const slowClock = new Date(Date.now() - 600_000);

/** An account whose server has a video service in front. */
async function withService(t: ExecutionContext, answers: ServiceAnswers = {}) {
  const { person, account, records } = await connected(t);
  const service = await videoServiceBefore(t, person, answers);
  const connection = openConnection(t, account, { baseUrl: service.url, now: () => slowClock });
  const file = await videoFile();
  const send = () => publish(blueskyNetwork, connection, partsWith([file], 'A video'));
  const bytesOf = async () => {
    const embed = (await records()).at(-1)?.record.embed;
    return AppBskyEmbedVideo.isMain(embed) && blobBytes(person.agent, embed.video);
  };
  return { ...service, records, file, send, bytesOf };
}

const working = { body: { jobStatus: { jobId: 'job-1', state: 'JOB_STATE_ENCODING' } } };

test('a video is processed before the post is published, and the post shows the result', async (t) => {
  const { seen, records, file, send, bytesOf } = await withService(t);
  const { sent } = await send();

  t.deepEqual(await bytesOf(), processed(file.bytes));
  t.like((await records())[0]?.record.embed, { aspectRatio: { width: 320, height: 180 } });
  t.is(sent[0]?.warning, undefined);
  t.false(seen.includes('uploadBlob'));
  t.true(seen.lastIndexOf('getJobStatus') < seen.indexOf('applyWrites'));
});

test('a video that the service already has is shown with the result of its first job', async (t) => {
  const { account, person, records } = await connected(t);
  const first = await videoServiceBefore(t, person);
  const file = await videoFile();
  const connectionTo = (baseUrl: string) => openConnection(t, account, { baseUrl });
  await publish(blueskyNetwork, connectionTo(first.url), partsWith([file], 'First'));
  const embed = (await records())[0]?.record.embed;
  const blob = AppBskyEmbedVideo.isMain(embed) ? embed.video.toJSON() : t.fail();

  const again = await videoServiceBefore(t, person, {
    uploadVideo: {
      status: 409,
      body: {
        did: person.did,
        error: 'already_exists',
        jobId: 'job-1',
        message: 'Video already processed',
        state: 'JOB_STATE_COMPLETED',
      },
    },
    getJobStatus: [
      {
        body: {
          jobStatus: { jobId: 'job-1', state: 'JOB_STATE_FAILED', error: 'already_exists', blob },
        },
      },
    ],
  });
  await publish(blueskyNetwork, connectionTo(again.url), partsWith([file], 'Second'));
  t.is((await records()).length, 2);
});

test("a video whose processing fails is refused with the service's message", async (t) => {
  const message = 'Failed to process video';
  const { records, send } = await withService(t, {
    getJobStatus: [working, { body: { jobStatus: { state: 'JOB_STATE_FAILED', message } } }],
  });
  const error = await t.throwsAsync(send());
  t.like(error, { name: 'NetworkError', code: 'media_refused', accepted: 'no' });
  t.regex(error?.message ?? '', /"clip\.mp4": "Failed to process video"/v);
  t.deepEqual(await records(), []);
});

test('an account at its daily limit waits, and one that may not upload gets an error', async (t) => {
  const daily = 'User has exceeded daily upload videos limit';
  const young = 'Account is not old enough to upload videos';
  const cases = [
    {
      answers: { getUploadLimits: { body: { canUpload: false, message: daily } } },
      code: 'rate_limited',
    },
    {
      answers: { getUploadLimits: { body: { canUpload: false, message: young } } },
      code: 'media_refused',
    },
    { answers: { uploadVideo: { status: 400, body: { message: daily } } }, code: 'rate_limited' },
    {
      answers: {
        uploadVideo: {
          status: 400,
          body: { jobStatus: { jobId: '', state: '', error: 'unconfirmed_email' } },
        },
      },
      code: 'media_refused',
    },
    { answers: { uploadVideo: { status: 502, body: {} } }, code: 'network_unavailable' },
  ];
  for (const { answers, code } of cases) {
    const { send, records } = await withService(t, answers);
    const error = await t.throwsAsync(send());
    const retryAtMs = code === 'rate_limited' ? slowClock.getTime() + 60 * 60_000 : undefined;
    t.like(error, { name: 'NetworkError', code, accepted: 'no', retryAtMs });
    t.deepEqual(await records(), []);
  }
});

test('without the service, a video goes to the server itself, with a warning', async (t) => {
  for (const answers of [
    { getUploadLimits: { status: 501, body: {} } },
    { getUploadLimits: { body: 'no limits' } },
    { uploadVideo: { status: 404, body: {} } },
  ]) {
    const { send, file, bytesOf } = await withService(t, answers);
    const { sent } = await send();
    t.regex(sent[0]?.warning ?? '', /video service/v);
    t.deepEqual(await bytesOf(), file.bytes);
  }
});

/** A PNG of over 2,000,000 bytes. */
async function largeFile(name: string) {
  const [width, height] = [1000, 800];
  const bytes = await sharp(randomBytes(width * height * 3), {
    raw: { width, height, channels: 3 },
  })
    .png()
    .toBuffer();
  return fileOf(bytes, { name, width, height, altText: 'Noise' });
}

test('a smaller version of an image over the limit is live, and the post has a warning', async (t) => {
  const { records, connection, person } = await connected(t);
  const files = [await pictureFile('small.png'), await largeFile('large.png')];
  const { sent } = await publish(blueskyNetwork, connection, partsWith(files, 'Look'));

  t.regex(
    sent[0]?.warning ?? '',
    /^Bluesky takes images of up to 2\.0 MB, and "large\.png" has 2\.4 MB: it went out as a JPEG of 1,000 × 800 pixels with [01]\.\d MB\.$/v,
  );
  const [live] = await records();
  const embed = live?.record.embed;
  const images = AppBskyEmbedImages.isMain(embed) ? embed.images : [];
  t.like(images, [{ alt: '' }, { alt: 'Noise', aspectRatio: { width: 1000, height: 800 } }]);
  const bytes = await blobBytes(person.agent, images[1]?.image as BlobRef);
  t.true(bytes.length <= 2_000_000);
  t.like(await sharp(bytes).metadata(), { format: 'jpeg', width: 1000, height: 800 });
});

test('an image that cannot be decoded prevents the post', async (t) => {
  const { records, connection } = await connected(t);
  const file = fileOf(randomBytes(2_000_001), { name: 'broken.png' });
  t.like(await t.throwsAsync(publish(blueskyNetwork, connection, partsWith([file], 'Look'))), {
    code: 'media_refused',
    accepted: 'no',
    message: 'The file "broken.png" is larger than Bluesky takes, and could not be made smaller.',
  });
  t.deepEqual(await records(), []);
});

test("a post is live with its link's card, and is found after a lost answer", async (t) => {
  const page = '<title>A page</title><meta property="og:image" content="/p">';
  const bytes = await picture('png');
  const site = createServer((request, response) => {
    const isPage = request.url === '/page';
    response.setHeader('content-type', isPage ? 'text/html' : 'image/png');
    response.end(isPage ? page : bytes);
  });
  const port = await listening(t, site);
  const url = `http://127.0.0.1:${port}/page`;
  const { account, records } = await connected(t);
  const downloads = waysOutTo(t, url);
  const connection = openConnection(t, account, { downloads });
  const { prepared, sent } = await publish(blueskyNetwork, connection, partsOf(`Read ${url}`));

  const [live] = await records();
  const embed = live?.record.embed;
  t.true(AppBskyEmbedExternal.isMain(embed));
  t.like(embed, { external: { uri: url, title: 'A page', description: '' } });
  t.is(sent[0]?.warning, undefined);
  const finding = await blueskyNetwork.reconcile(
    connection,
    nextStep(blueskyNetwork, prepared, []),
  );
  t.deepEqual(finding, { kind: 'found', candidates: [sent] });
});
