import sharp from 'sharp';
import { upload } from '../support/media-library.ts';
import { pictureFile, pixelsOf, videoFile } from '../networks/files.ts';
import {
  addBlueskyChannel,
  addMastodonChannel,
  blueskyAccount,
  mastodonAccount,
  networkPorts,
} from '../support/accounts.ts';
import { newClient, type Client } from '../support/client.ts';
import { env } from '../support/env.ts';
import { beforeTests } from '../support/kit.ts';
import { lossyProxy } from '../support/lossy-proxy.ts';
import { needs } from '../support/needs.ts';
import { startPunctual } from '../support/punctual.ts';
import { postsOf, statusesOf } from './live-posts.ts';

const test = needs('temporal', 'gotosocial', 'pds');

/**
 * One service for all tests, with lines to the servers, which one test breaks. The allowed ports are set at its start.
 */
const shared = beforeTests(test, async (scope) => {
  const lines = {
    mastodon: await lossyProxy(scope, env('PUNCTUAL_TEST_GOTOSOCIAL_URL')),
    bluesky: await lossyProxy(scope, env('PUNCTUAL_TEST_PDS_URL')),
  };
  const linePorts = Object.values(lines).map(({ url }) => Number(new URL(url).port));
  const allowPorts = [...networkPorts(), ...linePorts];
  return { lines, punctual: await startPunctual(scope, { allowPorts }) };
});

/** A workspace with an account of its own on each network, and two files in its library. */
async function workspace(through: { mastodon?: string; bluesky?: string } = {}) {
  const { punctual } = shared();
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const [mastodon, bluesky] = await Promise.all([mastodonAccount(), blueskyAccount()]);
  const channels = {
    mastodon: await addMastodonChannel(punctual, workspaceId, mastodon, through.mastodon),
    bluesky: await addBlueskyChannel(punctual, workspaceId, bluesky, through.bluesky),
  };
  const files = [await pictureFile('a.png', 30, 20), await pictureFile('b.png', 20, 40)];
  const mediaIds: string[] = [];
  for (const { bytes, name } of files) {
    mediaIds.push(await inLibrary(client, bytes, name));
  }

  const pictures = await Promise.all(files.map(({ bytes }) => pixelsOf(bytes)));
  return { client, mastodon, bluesky, channels, mediaIds, pictures };
}

/** Uploads a file. @returns its id. */
async function inLibrary(client: Client, bytes: Uint8Array, fileName: string): Promise<string> {
  const { body } = await upload(shared().punctual, client, { bytes, fileName });
  return body.media.id;
}

test('a scheduled thread with two pictures is live on both networks, with the pictures on its first post', async (t) => {
  const { client, mastodon, bluesky, channels, mediaIds, pictures } = await workspace();
  const { status, body } = await client.post('/posts', {
    thread: ['Look', 'And read on'],
    media_ids: mediaIds,
    channel_ids: Object.values(channels),
    schedule_in_minutes: 0,
  });
  t.is(status, 201);
  const post = await client.finalPost(body.post.id);

  t.like(post, { status: 'published', summary: { published: 2, failed: 0, pending: 0 } });
  const expected = [
    { text: 'Look', pictures },
    { text: 'And read on', pictures: [] },
  ];
  const statuses = await statusesOf(mastodon);
  const records = await postsOf(bluesky);
  for (const live of [statuses, records]) {
    t.deepEqual(
      live.map(({ text, pictures: shown }) => ({ text, pictures: shown })),
      expected,
    );
  }
  t.is(post.channels[0]?.url, statuses[0]?.url);
});

test('lost responses to uploads and posts leave one post on each network, with its picture', async (t) => {
  const { lines } = shared();
  const through = { mastodon: lines.mastodon.url, bluesky: lines.bluesky.url };
  const { client, mastodon, bluesky, channels, ...library } = await workspace(through);
  lines.mastodon.plan({ method: 'POST', path: /\/api\/v1\/statuses/v }, { kind: 'lost' });
  lines.bluesky.plan({ method: 'POST', path: /applyWrites/v }, { kind: 'lost' });
  const { body } = await client.post('/posts', {
    media_ids: library.mediaIds.slice(0, 1),
    channel_ids: Object.values(channels),
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id);

  t.is(post.status, 'published');
  const pictures = library.pictures.slice(0, 1);
  const [status, ...moreStatuses] = await statusesOf(mastodon);
  t.like(status, { text: '', url: post.channels[0]?.url ?? '' });
  t.deepEqual(status?.pictures, pictures);
  t.deepEqual(moreStatuses, []);
  const [record, ...moreRecords] = await postsOf(bluesky);
  t.deepEqual(record?.pictures, pictures);
  t.deepEqual(moreRecords, []);
  const asked = (seen: typeof lines.mastodon.seen, path: RegExp) =>
    seen.filter((request) => request.method === 'POST' && path.test(request.path)).length;
  t.is(asked(lines.mastodon.seen, /\/api\/v1\/statuses/v), 1); // No second request was sent.
  t.is(asked(lines.bluesky.seen, /applyWrites/v), 1);
});

test('a file that a network refuses fails that channel with the file’s name, and the other channel is published', async (t) => {
  const { client, mastodon, channels } = await workspace();
  // A video with valid tables and noise as its frames: GoToSocial decodes it, and the PDS does not.
  const { bytes } = await videoFile();
  const { body } = await client.post('/posts', {
    body: 'Half',
    media_ids: [await inLibrary(client, bytes, 'noise.mp4')],
    channel_ids: Object.values(channels),
    schedule_in_minutes: 0,
  });
  const post = await client.finalPost(body.post.id);

  t.like(post, { status: 'failed', summary: { published: 1, failed: 1, pending: 0 } });
  t.like(post.channels[0], { status: 'failed', error_code: 'media_refused', url: null });
  t.regex(post.channels[0]?.error ?? '', /"noise\.mp4"/v);
  t.deepEqual(await statusesOf(mastodon), []);
});

test('a picture is sent unchanged, neither rotated nor scaled', async (t) => {
  const { client, bluesky, channels } = await workspace();
  const turned = await sharp({ create: { width: 40, height: 20, channels: 3, background: 'red' } })
    .jpeg()
    .withMetadata({ orientation: 6 })
    .toBuffer();
  const { body } = await client.post('/posts', {
    body: 'Turned',
    media_ids: [await inLibrary(client, turned, 'a.jpg')],
    channel_ids: [channels.bluesky],
    schedule_in_minutes: 0,
  });
  await client.finalPost(body.post.id);

  const [live] = await postsOf(bluesky);
  t.deepEqual(live?.images[0]?.aspectRatio, { width: 20, height: 40 }); // As it is displayed.
  t.deepEqual(live?.files, [turned]);
});
