import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppBskyEmbedExternal, AppBskyEmbedImages, type BlobRef } from '@atproto/api';
import sharp from 'sharp';
import { blueskyNetwork } from '../../../networks/bluesky/adapter.ts';
import { picture } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { waysOutTo, openConnection } from '../connection.ts';
import { fileOf, pictureFile } from '../files.ts';
import { nextStep, partsOf, partsWith, publish, sendStep, throughDatabase } from '../publish.ts';
import { blobBytes, connected } from './bench.ts';

const test = needs('pds');

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

test('an attempt in another process encodes an image again, and the post is still found', async (t) => {
  const { account, records, connection } = await connected(t);
  const parts = partsWith([await largeFile('large.png')], 'Look');
  const prepared = throughDatabase(await blueskyNetwork.prepare(connection, parts, Date.now()));
  const other = openConnection(t, account);
  const step = nextStep(blueskyNetwork, prepared, []);

  const sent = await sendStep(blueskyNetwork, other, step);
  t.is((await records()).length, 1);
  t.deepEqual(await blueskyNetwork.reconcile(other, step), { kind: 'found', candidates: [sent] });
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
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => site.once('listening', resolve));
  t.teardown(() => site.close());
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/page`;
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
