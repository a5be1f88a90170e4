import { randomBytes } from 'node:crypto';
import { AppBskyEmbedImages } from '@atproto/api';
import { blueskyNetwork as bluesky } from '../../../networks/bluesky/adapter.ts';
import { recordKey } from '../../../networks/bluesky/thread.ts';
import type { PreparedPart, ThreadPart } from '../../../networks/network.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { animation } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { openConnection } from '../connection.ts';
import { fileOf, pictureFile, videoFile } from '../files.ts';
import { nextStep, partsOf, partsWith, publish, sendStep, throughDatabase } from '../publish.ts';
import { passesAsNetwork } from '../suite.ts';
import { bench, blobBytes, connected } from './bench.ts';

const test = needs('pds');

passesAsNetwork(test, bench);

// A repeated send creates the same records.

const collection = 'app.bsky.feed.post';

const preparedPostOf = ({ data }: PreparedPart) =>
  data as { rkey: string; cid: string; record: { text: string } };

test('the server gives every part the key and hash that were computed before', async (t) => {
  const { records, connection } = await connected(t);
  const parts = partsOf('One', 'Two #tag', 'Three');
  const { prepared } = await publish(bluesky, connection, parts);

  const live = await records();
  t.deepEqual(
    live.map(({ uri, cid }) => ({ rkey: uri.split('/').at(-1), cid })),
    prepared.map(preparedPostOf).map(({ rkey, cid }) => ({ rkey, cid })),
  );
  t.deepEqual(
    live.map(({ record }) => record.reply?.root.cid),
    [undefined, live[0]?.cid, live[0]?.cid],
  );
});

test('a thread that is sent again exists once, with the first answer', async (t) => {
  const { records, connection } = await connected(t);
  const { prepared, sent } = await publish(bluesky, connection, partsOf('One', 'Two'));

  const step = nextStep(bluesky, throughDatabase(prepared), []);
  t.deepEqual(await sendStep(bluesky, connection, step), sent);
  t.is((await records()).length, 2);
});

test('a renewed thread has a new time, and the first version is then found instead of written', async (t) => {
  const { records, connection } = await connected(t);
  const before = await bluesky.prepare(connection, partsOf('One', 'Two'), Date.now() - 36_000_000);
  const nowMs = Date.now();
  const prepared = throughDatabase((await bluesky.renew?.(connection, before, nowMs, [])) ?? []);
  const sent = await sendStep(bluesky, connection, nextStep(bluesky, prepared, []));

  t.deepEqual(
    (await records()).map(({ cid, record }) => [cid, Date.parse(record.createdAt)]),
    prepared.map((part, index) => [preparedPostOf(part).cid, nowMs + index]),
  );
  t.deepEqual(await bluesky.reconcile(connection, nextStep(bluesky, prepared, [])), {
    kind: 'found',
    candidates: [sent],
  });
  t.deepEqual(await sendStep(bluesky, connection, nextStep(bluesky, before, [])), sent);
  t.is((await records()).length, 2);
});

test('a post that a restored database prepares anew is refused by the server, and found unless a part differs', async (t) => {
  const { records, connection } = await connected(t);
  const [dueAtMs, first] = [Date.now() - 5000, partsOf('One', 'Two')];
  const due = (parts: readonly ThreadPart[], atMs = dueAtMs) =>
    parts.map((part) => Object.assign(part, { dueAtMs: atMs }));
  const { sent } = await publish(bluesky, connection, due(first));
  t.deepEqual((await publish(bluesky, connection, due(first))).sent, sent);
  // Another time or another run of the post is another post.
  await publish(bluesky, connection, due(first, dueAtMs + 60_000));
  await publish(bluesky, connection, due(partsOf('One', 'Two')));
  t.is((await records()).length, 6);
  // The thread was edited after the backup.
  const edited = [first[0], { ...first[1], text: 'Two, before the edit' }] as ThreadPart[];
  t.like(await t.throwsAsync(publish(bluesky, connection, edited)), { code: 'unconfirmed' });
});

test('a thread is found although its owner deleted a part since', async (t) => {
  const { person, connection } = await connected(t);
  const { prepared, sent } = await publish(bluesky, connection, partsOf('One', 'Two'));
  await person.agent.deletePost(sent[0]?.remoteId ?? '');

  const finding = await bluesky.reconcile(connection, nextStep(bluesky, prepared, []));
  t.deepEqual(finding, { kind: 'found', candidates: [sent] });
});

test('a post that differs from the prepared one is left for a person to settle', async (t) => {
  const { person, connection } = await connected(t);
  const { prepared } = await publish(bluesky, connection, partsOf('Original'));
  const [{ rkey, record }] = prepared.map(preparedPostOf) as [ReturnType<typeof preparedPostOf>];
  await person.agent.com.atproto.repo.putRecord({
    repo: person.did,
    collection,
    rkey,
    record: { ...record, text: 'Edited' },
  });

  const step = nextStep(bluesky, prepared, []);
  for (const attempt of [
    bluesky.reconcile(connection, step),
    sendStep(bluesky, connection, step),
  ]) {
    t.like(await t.throwsAsync(attempt), { code: 'unconfirmed', accepted: 'unknown' });
  }
});

test('a refused thread leaves no parts behind', async (t) => {
  const { records, connection } = await connected(t);
  const parts = partsOf('Fine', 'x'.repeat(301), 'Fine too');
  const attempt = publish(bluesky, connection, parts);
  t.like(await t.throwsAsync(attempt), { code: 'content_refused', accepted: 'no' });
  t.deepEqual(await records(), []);
});

test('if a lookup after a refusal fails too, the outcome stays unknown', async (t) => {
  const { account } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan(bench.creates, { kind: 'refused', answer: { status: 500 } });
  proxy.plan({ method: 'GET', path: /getRecord/ }, { kind: 'refused', answer: { status: 500 } });
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const attempt = publish(bluesky, connection, partsOf('Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', accepted: 'unknown' });
});

needs()('record keys are the same for the same part, and later parts have later keys', (t) => {
  const atMs = Date.UTC(2026, 10, 20);
  t.is(recordKey(atMs, 'a-0'), recordKey(atMs, 'a-0'));
  t.not(recordKey(atMs, 'a-0'), recordKey(atMs, 'b-0'));

  const keys = Array.from({ length: 1000 }, (_, index) => recordKey(atMs + index, `a-${index}`));
  t.deepEqual(keys.toSorted(), keys);
  t.true(keys.every((key) => /^[234567abcdefghij][234567a-z]{12}$/.test(key)));
});

needs()('a record key encodes its time like every TID', (t) => {
  const atMs = Date.UTC(2026, 10, 20);
  const digits = '234567abcdefghijklmnopqrstuvwxyz';
  const value = [...recordKey(atMs, 'a-0')].reduce(
    (sum, digit) => sum * 32n + BigInt(digits.indexOf(digit)),
    0n,
  );
  t.is(Number((value >> 10n) / 1000n), atMs);
});

// Files.

test('a record refers to its images by their bytes, with their aspect ratio', async (t) => {
  const { person, records, connection } = await connected(t);
  const files = [await pictureFile('a.png', 30, 20), await pictureFile('b.png', 7, 9)];
  const { prepared } = await publish(bluesky, connection, partsWith(files, 'Two'));

  const [live] = await records();
  t.is(live?.cid, (prepared[0]?.data as { cid: string } | undefined)?.cid);
  const embed = live?.record.embed;
  t.true(AppBskyEmbedImages.isMain(embed));
  const images = AppBskyEmbedImages.isMain(embed) ? embed.images : [];
  t.deepEqual(
    images.map(({ aspectRatio }) => aspectRatio),
    [
      { width: 30, height: 20 },
      { width: 7, height: 9 },
    ],
  );
  for (const [index, { image }] of images.entries()) {
    t.deepEqual(await blobBytes(person.agent, image), files[index]?.bytes);
  }
});

test('files that a record cannot combine prevent the post', async (t) => {
  const { records, connection } = await connected(t);
  const [picture, video] = [await pictureFile(), await videoFile()];
  for (const files of [
    [picture, video],
    [video, video],
  ]) {
    const attempt = publish(bluesky, connection, partsWith(files, 'Hi'));
    t.like(await t.throwsAsync(attempt), { code: 'media_refused', accepted: 'no' });
  }
  t.deepEqual(await records(), []);
});

test("a file that the server refuses prevents the post, with the server's message", async (t) => {
  const { records, connection } = await connected(t);
  const webm = { name: 'a.webm', type: 'video/webm' };
  const gif = fileOf(await animation('gif', [100, 100]), { name: 'a.gif', type: 'video/mp4' });
  const refused = {
    'over the server’s limit for a file': fileOf(randomBytes(6_000_000), {
      type: 'video/mp4',
    }),
    'another type of video': fileOf((await videoFile()).bytes.fill('qt  ', 8, 12), webm),
    'an image instead of a video': gif,
  };
  for (const [what, file] of Object.entries(refused)) {
    const attempt = publish(bluesky, connection, partsWith([file], 'Hi'));
    const error = await t.throwsAsync(attempt, undefined, what);
    t.like(error, { name: 'NetworkError', code: 'media_refused', accepted: 'no' }, what);
    t.regex(error?.message ?? '', /HTTP 4\d\d\): ".+"/, what);
  }
  t.deepEqual(await records(), []);
});

test('a token that expires between two files is renewed, and the file sent again', async (t) => {
  const { account, records } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  proxy.plan(bench.uploads, { kind: 'none' });
  const body = '{"error":"ExpiredToken","message":"Token has expired"}';
  proxy.plan(bench.uploads, { kind: 'refused', answer: { status: 400, body } });
  await publish(bluesky, connection, partsWith([await pictureFile(), await pictureFile()], 'Hi'));

  t.is(connection.saved.length, 1);
  t.is((await records()).length, 1);
});

test('every upload failure means that the post was certainly not published', async (t) => {
  const { account, records } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const parts = partsWith([await pictureFile()], 'Hi');
  const other = { $type: 'blob', ref: { $link: 'bafkreiother' }, mimeType: 'image/png', size: 1 };
  for (const [answer, code] of [
    [{ status: 429, headers: { 'retry-after': '60' } }, 'rate_limited'],
    [{ status: 401, body: '{"error":"AccountTakedown"}' }, 'access_lost'],
    [{ status: 413 }, 'media_refused'],
    [{ status: 404 }, 'network_unavailable'],
    [{ status: 502 }, 'network_unavailable'],
    [{ status: 200, body: '<html>' }, 'network_unavailable'],
    [{ status: 200, body: JSON.stringify({ blob: other }) }, 'media_refused'],
  ] as const) {
    proxy.plan(bench.uploads, { kind: 'refused', answer });
    const attempt = publish(bluesky, connection, parts);
    t.like(await t.throwsAsync(attempt), { code, accepted: 'no' }, String(answer.status));
  }
  t.deepEqual(await records(), []);
});
