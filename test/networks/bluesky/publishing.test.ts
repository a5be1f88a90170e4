import { randomBytes } from 'node:crypto';
import { AppBskyEmbedImages } from '@atproto/api';
import sharp from 'sharp';
import { bluesky } from '../../../networks/bluesky/adapter.ts';
import { recordKey } from '../../../networks/bluesky/prepare.ts';
import type { PreparedPart } from '../../../networks/network.ts';
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

// Records that are sent again are the same records.

const collection = 'app.bsky.feed.post';

const preparedPostOf = ({ data }: PreparedPart) =>
  data as { rkey: string; cid: string; record: { text: string } };

test('the server gives every part the key and the hash that were computed before', async (t) => {
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

test('a thread that is sent again is there once, and the answer is that of the first time', async (t) => {
  const { records, connection } = await connected(t);
  const { prepared, sent } = await publish(bluesky, connection, partsOf('One', 'Two'));

  const again = await sendStep(
    bluesky,
    connection,
    nextStep(bluesky, throughDatabase(prepared), []),
  );
  t.deepEqual(again, sent);
  t.is((await records()).length, 2);
});

test('a thread that is prepared anew is of another time, and beside it the first one cannot be written any more', async (t) => {
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
  const late = sendStep(bluesky, connection, nextStep(bluesky, before, []));
  t.like(await t.throwsAsync(late), { code: 'unconfirmed' });
  t.is((await records()).length, 2);
});

test('equal texts in two posts are two posts, each found as itself', async (t) => {
  const { records, connection } = await connected(t);
  const first = await publish(bluesky, connection, partsOf('Same'));
  const second = await publish(bluesky, connection, partsOf('Same'));

  t.is((await records()).length, 2);
  for (const { prepared, sent } of [first, second]) {
    const finding = await bluesky.reconcile(connection, nextStep(bluesky, prepared, []));
    t.deepEqual(finding, { kind: 'found', candidates: [sent] });
  }
});

test('a thread whose owner deleted a part since was published', async (t) => {
  const { person, connection } = await connected(t);
  const { prepared, sent } = await publish(bluesky, connection, partsOf('One', 'Two'));
  await person.agent.deletePost(sent[0]?.remoteId ?? '');

  const finding = await bluesky.reconcile(connection, nextStep(bluesky, prepared, []));
  t.deepEqual(finding, { kind: 'found', candidates: [sent] });
});

test('a post that is not the one we prepared is left to a person', async (t) => {
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
    t.like(await t.throwsAsync(attempt), { code: 'unconfirmed', taken: 'unknown' });
  }
});

test('a refused thread leaves none of its parts behind', async (t) => {
  const { records, connection } = await connected(t);
  const parts = partsOf('Fine', 'x'.repeat(301), 'Fine too');
  const attempt = publish(bluesky, connection, parts);
  t.like(await t.throwsAsync(attempt), { code: 'content_refused', taken: 'no' });
  t.deepEqual(await records(), []);
});

test('when nobody can tell after a refusal, the outcome stays open', async (t) => {
  const { account } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan(bench.creates, { kind: 'refused', answer: { status: 500 } });
  proxy.plan({ method: 'GET', path: /getRecord/ }, { kind: 'refused', answer: { status: 500 } });
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const attempt = publish(bluesky, connection, partsOf('Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', taken: 'unknown' });
});

needs()('record keys are the same for the same part, and later parts come later', (t) => {
  const atMs = Date.UTC(2026, 10, 20);
  t.is(recordKey(atMs, 'a-0'), recordKey(atMs, 'a-0'));
  t.not(recordKey(atMs, 'a-0'), recordKey(atMs, 'b-0'));

  const keys = Array.from({ length: 1000 }, (_, index) => recordKey(atMs + index, `a-${index}`));
  t.deepEqual(keys.toSorted(), keys);
  t.true(keys.every((key) => /^[234567abcdefghij][234567a-z]{12}$/.test(key)));
});

needs()('a record key says its time as every TID does', (t) => {
  const atMs = Date.UTC(2026, 10, 20);
  const digits = '234567abcdefghijklmnopqrstuvwxyz';
  const value = [...recordKey(atMs, 'a-0')].reduce(
    (sum, digit) => sum * 32n + BigInt(digits.indexOf(digit)),
    0n,
  );
  t.is(Number((value >> 10n) / 1000n), atMs);
});

// Files.

test('a record names its pictures by their bytes, with the room that they need', async (t) => {
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

test('the same picture twice, in one post and in two, is no trouble', async (t) => {
  const { records, connection } = await connected(t);
  const file = await pictureFile();
  const { prepared, sent } = await publish(bluesky, connection, partsWith([file, file], 'Twice'));
  await publish(bluesky, connection, partsWith([file], 'Again'));
  const again = await sendStep(
    bluesky,
    connection,
    nextStep(bluesky, throughDatabase(prepared), []),
  );

  t.deepEqual(again, sent);
  t.is((await records()).length, 2);
});

test('the server is believed about what a file is: an animated PNG goes out as one', async (t) => {
  const { records, connection } = await connected(t);
  const png = (await pictureFile()).bytes;
  const control = Buffer.from('000000086163544c0000000100000000b92d70f3', 'hex'); // acTL: one frame, for ever.
  const animated = Buffer.concat([png.subarray(0, 33), control, png.subarray(33)]);
  const file = fileOf(animated, { name: 'a.png', type: 'image/png' });
  await publish(bluesky, connection, partsWith([file], 'Moving'));

  const [live] = await records();
  t.like(live?.record.embed, { images: [{ image: { mimeType: 'image/apng' } }] });
});

test('files that a record cannot show together keep the post back', async (t) => {
  const { records, connection } = await connected(t);
  const [picture, video] = [await pictureFile(), await videoFile()];
  for (const files of [
    [picture, video],
    [video, video],
  ]) {
    const attempt = publish(bluesky, connection, partsWith(files, 'Hi'));
    t.like(await t.throwsAsync(attempt), { code: 'media_refused', taken: 'no' });
  }
  t.deepEqual(await records(), []);
});

test('a file that the server refuses keeps the post back, with the words of the server', async (t) => {
  const { records, account } = await connected(t);
  // Otherwise the image would be made smaller.
  const connection = openConnection(t, account, { settings: { maxImageBytes: 50_000_000 } });
  const pixels = { raw: { width: 1000, height: 700, channels: 3 as const } };
  const large = await sharp(randomBytes(2_100_000), pixels).png().toBuffer();
  const webm = { name: 'a.webm', type: 'video/webm' };
  const gif = fileOf(await animation('gif', [100, 100]), { name: 'a.gif', type: 'video/mp4' });
  const refused = {
    'over what the server takes as one file': fileOf(randomBytes(6_000_000), {
      type: 'video/mp4',
    }),
    'over what a record may name': fileOf(large, { name: 'large.png' }),
    'another kind of video': fileOf((await videoFile()).bytes.fill('qt  ', 8, 12), webm),
    'no video at all': gif,
  };
  for (const [what, file] of Object.entries(refused)) {
    const attempt = publish(bluesky, connection, partsWith([file], 'Hi'));
    const error = await t.throwsAsync(attempt, undefined, what);
    t.like(error, { name: 'NetworkError', code: 'media_refused', taken: 'no' }, what);
    t.regex(error?.message ?? '', /HTTP 4\d\d\): ".+"/, what);
  }
  t.deepEqual(await records(), []);
});

test('without a session one login is enough for the files and the post', async (t) => {
  const { account } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url, session: null });
  const files = [await pictureFile(), await pictureFile(), await pictureFile()];
  await publish(bluesky, connection, partsWith(files, 'Three'));

  const count = (method: string) => proxy.seen.filter(({ path }) => path.endsWith(method)).length;
  t.deepEqual([count('createSession'), count('uploadBlob'), count('applyWrites')], [1, 3, 1]);
});

test('a token that ends between two files is renewed, and the file sent again', async (t) => {
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

test('each way in which an upload can fail leaves no doubt about the post', async (t) => {
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
    t.like(await t.throwsAsync(attempt), { code, taken: 'no' }, String(answer.status));
  }
  t.deepEqual(await records(), []);
});
