import { AppBskyEmbedVideo } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import { blueskyNetwork } from '../../../networks/bluesky/adapter.ts';
import { needs } from '../../support/needs.ts';
import { openConnection } from '../connection.ts';
import { fileOf, videoFile } from '../files.ts';
import { partsWith, publish } from '../publish.ts';
import { blobBytes, connected } from './bench.ts';
import { processed, videoServiceBefore, type ServiceAnswers } from './video-service.ts';

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

test("a video with Apple's brand is published as the MP4 that it is", async (t) => {
  const { person, records, connection } = await connected(t);
  for (const brand of ['M4V ', 'M4VH', 'M4VP']) {
    const bytes = Buffer.from((await videoFile()).bytes).fill(brand, 8, 12);
    const file = fileOf(bytes, { name: 'clip.m4v', type: 'video/mp4' });
    await publish(blueskyNetwork, connection, partsWith([file], brand));

    const embed = (await records()).at(-1)?.record.embed;
    t.like(embed, { video: { mimeType: 'video/mp4' } }, brand);
    const kept = AppBskyEmbedVideo.isMain(embed) && (await blobBytes(person.agent, embed.video));
    t.deepEqual(kept, Buffer.from(bytes).fill('mp42', 8, 12));
  }
});

// The video service.

/** An account whose server has a video service in front. */
async function withService(t: ExecutionContext, answers: ServiceAnswers = {}) {
  const { person, account, records } = await connected(t);
  const service = await videoServiceBefore(t, person, answers);
  const connection = openConnection(t, account, { baseUrl: service.url });
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
    t.like(error, { name: 'NetworkError', code, accepted: 'no' });
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
