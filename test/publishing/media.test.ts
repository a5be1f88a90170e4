import type { ExecutionContext } from 'ava';
import sharp from 'sharp';
import { upload } from '../api/media/support/library.ts';
import { pictureFile, pixelsOf, videoFile } from '../networks/files.ts';
import { blobBytes, recordsOf } from '../networks/bluesky/bench.ts';
import { AppBskyEmbedImages } from '@atproto/api';
import {
  blueskyAccount,
  type BlueskyTestAccount,
  addBlueskyChannel,
  addMastodonChannel,
  networkPorts,
  mastodonAccount,
  type MastodonTestAccount,
} from '../support/accounts.ts';
import { newClient } from '../support/client.ts';
import { lossyProxy } from '../support/lossy-proxy.ts';
import { needs } from '../support/needs.ts';
import { startApi, startPunctual } from '../support/punctual.ts';
import { killed, startWorkerProcess } from '../support/worker-process.ts';

const test = needs('temporal', 'gotosocial', 'pds');

/** Two servers and a worker share the machine with all other tests. */
const patienceMs = 90_000;

/** The statuses of an account, oldest first, each with its text and the pixels of its pictures. */
async function statusesOf({ client }: MastodonTestAccount) {
  const me = await client.v1.accounts.verifyCredentials();
  const statuses = await client.v1.accounts.$select(me.id).statuses.list();
  return Promise.all(
    statuses.toReversed().map(async ({ id, url, mediaAttachments }) => ({
      url,
      text: (await client.v1.statuses.$select(id).source.fetch()).text,
      pictures: await Promise.all(
        mediaAttachments.map(async (file) => {
          const response = await fetch(file.url ?? '');
          return pixelsOf(Buffer.from(await response.arrayBuffer()));
        }),
      ),
    })),
  );
}

/** The same for the records of a Bluesky account. */
async function postsOf({ agent }: BlueskyTestAccount) {
  return Promise.all(
    (await recordsOf(agent)).map(async ({ uri, record }) => {
      const images = AppBskyEmbedImages.isMain(record.embed) ? record.embed.images : [];
      const files = await Promise.all(images.map(({ image }) => blobBytes(agent, image)));
      return { uri, text: record.text, pictures: await Promise.all(files.map(pixelsOf)) };
    }),
  );
}

/** A Punctual with a channel on each network, each behind a line that can be broken, and two files in the library. */
async function world(t: ExecutionContext, start = startPunctual) {
  const [mastodon, bluesky] = await Promise.all([mastodonAccount(), blueskyAccount()]);
  const mastodonLine = await lossyProxy(t, mastodon.baseUrl);
  const blueskyLine = await lossyProxy(t, bluesky.baseUrl);
  const lines = [mastodonLine, blueskyLine].map(({ url }) => Number(new URL(url).port));
  const allowPorts = [...networkPorts(), ...lines];
  const punctual = await start(t, { allowPorts });
  const client = await newClient(punctual);
  const channels = {
    mastodon: await addMastodonChannel(punctual, client.workspaceId, mastodon, mastodonLine.url),
    bluesky: await addBlueskyChannel(punctual, client.workspaceId, bluesky, blueskyLine.url),
  };
  const files = [await pictureFile('a.png', 30, 20), await pictureFile('b.png', 20, 40)];
  const mediaIds: string[] = [];
  const pictures: Buffer[] = [];
  for (const { bytes, name } of files) {
    const { body } = await upload(punctual, client, { bytes, fileName: name });
    mediaIds.push(body.media.id);
    pictures.push(await pixelsOf(bytes));
  }

  const accounts = { mastodon, bluesky };
  return {
    punctual,
    client,
    allowPorts,
    accounts,
    mastodonLine,
    blueskyLine,
    channels,
    mediaIds,
    pictures,
  };
}

test('a scheduled thread with two pictures is live on both networks, with the pictures on its first post', async (t) => {
  const { client, accounts, channels, mediaIds, pictures } = await world(t);
  const { status, body } = await client.post('/posts', {
    thread: ['Look', 'And read on'],
    media_ids: mediaIds,
    channel_ids: Object.values(channels),
    schedule_in_minutes: 0,
  });
  t.is(status, 201);
  const post = await client.finalPost(body.post.id, patienceMs);

  t.like(post, { status: 'published', summary: { published: 2, failed: 0, pending: 0 } });
  const expected = [
    { text: 'Look', pictures },
    { text: 'And read on', pictures: [] },
  ];
  const statuses = await statusesOf(accounts.mastodon);
  const records = await postsOf(accounts.bluesky);
  for (const live of [statuses, records]) {
    t.deepEqual(
      live.map(({ text, pictures: shown }) => ({ text, pictures: shown })),
      expected,
    );
  }
  t.is(post.channels[0]?.url, statuses[0]?.url);
});

test('answers that are lost, to uploads and to posts, leave one post on each network, with its picture', async (t) => {
  const w = await world(t);
  const { client, accounts, channels, mastodonLine, blueskyLine } = w;
  mastodonLine.plan({ method: 'POST', path: /\/api\/v1\/statuses/v }, { kind: 'lost' });
  blueskyLine.plan({ method: 'POST', path: /applyWrites/v }, { kind: 'lost' });
  const { body } = await client.post('/posts', {
    media_ids: w.mediaIds.slice(0, 1),
    channel_ids: Object.values(channels),
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id, patienceMs);

  t.is(post.status, 'published');
  const pictures = w.pictures.slice(0, 1);
  const [status, ...moreStatuses] = await statusesOf(accounts.mastodon);
  t.like(status, { text: '', url: post.channels[0]?.url ?? '' });
  t.deepEqual(status?.pictures, pictures);
  t.deepEqual(moreStatuses, []);
  const [record, ...moreRecords] = await postsOf(accounts.bluesky);
  t.deepEqual(record?.pictures, pictures);
  t.deepEqual(moreRecords, []);
  const asked = (seen: typeof mastodonLine.seen, path: RegExp) =>
    seen.filter((request) => request.method === 'POST' && path.test(request.path)).length;
  t.is(asked(mastodonLine.seen, /\/api\/v1\/statuses/v), 1); // Nothing was sent again.
  t.is(asked(blueskyLine.seen, /applyWrites/v), 1);
});

test('the worker is killed while a picture is on its way: after a restart the post is there once, with it', async (t) => {
  const w = await world(t, startApi);
  const { punctual, client, allowPorts, accounts, channels, mastodonLine } = w;
  const first = await startWorkerProcess(t, punctual, allowPorts);
  const taken = new Promise<void>((resolve) => {
    mastodonLine.plan(
      { method: 'POST', path: /\/api\/v2\/media/v },
      { kind: 'held', taken: resolve },
    );
  });
  const { body } = await client.post('/posts', {
    body: 'Survives',
    media_ids: w.mediaIds,
    channel_ids: [channels.mastodon],
    schedule_in_minutes: 0,
  });
  await taken;
  await killed(first);
  const [attempt] = await punctual.orm.em
    .fork()
    .execute<{ state: string }[]>('select state from publish_attempts');
  await startWorkerProcess(t, punctual, allowPorts);
  const post = await client.finalPost(body.post.id, patienceMs);

  t.is(attempt, undefined); // Nobody has to wait or to ask for a post that was never sent.
  t.is(post.status, 'published');
  t.deepEqual(await statusesOf(accounts.mastodon), [
    { url: post.channels[0]?.url, text: 'Survives', pictures: w.pictures },
  ]);
});

test('a file that a network refuses fails that channel with the file’s name, and the other is published', async (t) => {
  const { punctual, client, accounts, channels } = await world(t);
  // A video whose tables are right and whose pictures are noise: Mastodon's servers look into it, Bluesky's do not.
  const { bytes } = await videoFile();
  const { body: library } = await upload(punctual, client, { bytes, fileName: 'noise.mp4' });
  const { body } = await client.post('/posts', {
    body: 'Half',
    media_ids: [library.media.id],
    channel_ids: Object.values(channels),
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id, patienceMs);

  t.like(post, { status: 'failed', summary: { published: 1, failed: 1, pending: 0 } });
  t.like(post.channels[0], { status: 'failed', error_code: 'media_refused', url: null });
  t.regex(post.channels[0]?.error ?? '', /"noise\.mp4"/v);
  t.deepEqual(await statusesOf(accounts.mastodon), []);
});

test('a picture is sent as it was given, never turned or made smaller on the way', async (t) => {
  const { punctual, client, accounts, channels } = await world(t);
  const turned = await sharp({ create: { width: 40, height: 20, channels: 3, background: 'red' } })
    .jpeg()
    .withMetadata({ orientation: 6 })
    .toBuffer();
  const { body: library } = await upload(punctual, client, { bytes: turned, fileName: 'a.jpg' });
  const { body } = await client.post('/posts', {
    body: 'Turned',
    media_ids: [library.media.id],
    channel_ids: [channels.bluesky],
    schedule_in_minutes: 0,
  });
  await client.finalPost(body.post.id, patienceMs);

  const [live] = await recordsOf(accounts.bluesky.agent);
  const images = AppBskyEmbedImages.isMain(live?.record.embed) ? live.record.embed.images : [];
  t.deepEqual(images[0]?.aspectRatio, { width: 20, height: 40 }); // As it is shown.
  t.deepEqual(images[0] && (await blobBytes(accounts.bluesky.agent, images[0].image)), turned);
});
