import test, { type ExecutionContext } from 'ava';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { holdPicture } from '../../../networks/bluesky/blobs.ts';
import { fitImage } from '../../../networks/bluesky/images.ts';
import { NetworkError } from '../../../networks/network.ts';
import { openConnection } from '../connection.ts';
import { fileOf } from '../files.ts';

const connectionOf = (t: ExecutionContext) =>
  openConnection(t, {
    baseUrl: 'http://127.0.0.1:1',
    remoteId: 'did:plc:a',
    handle: 'a.test',
    credentials: {},
    session: null,
    settings: {},
  });

/** An image that counts its complete reads. */
async function countedFile() {
  const raw = { width: 500, height: 400, channels: 3 } as const;
  const bytes = await sharp(randomBytes(500 * 400 * 3), { raw })
    .png()
    .toBuffer();
  const so = { read: 0, isDeleted: false };
  const file = fileOf(bytes, {
    name: 'large.png',
    open: async () => {
      if (so.isDeleted) {
        throw new NetworkError('media_refused', 'It is gone.', { accepted: 'no' });
      }

      async function* read() {
        yield bytes;
        so.read += 1;
      }
      return Readable.from(read());
    },
  });
  return { file, so };
}

test('an image is encoded once per size, for all posts and attempts', async (t) => {
  const { file, so } = await countedFile();
  const fit = (maxBytes: number) => fitImage(connectionOf(t), file, maxBytes);
  const [first, ...others] = await Promise.all([fit(200_000), fit(200_000), fit(200_000)]);
  t.is(so.read, 1);
  t.deepEqual([...others, await fit(200_000)], [first, first, first]);
  t.is(so.read, 1);
  t.not((await fit(100_000)).blob.ref.$link, first?.blob.ref.$link);
  t.is(so.read, 2);
  so.isDeleted = true;
  await t.throwsAsync(fit(200_000), { code: 'media_refused' } as object);
});

const megabyte = 1024 ** 2;
test('link card images have a memory limit, and one beyond it is reported', (t) => {
  const connection = connectionOf(t);
  const picture = Buffer.alloc(megabyte);
  const kept = Array.from({ length: 40 }, (_, n) => holdPicture(connection, `${n}`, picture));
  t.is(kept.filter(Boolean).length, 32);
  t.true(holdPicture(connection, '0', picture));
});
