import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import sharp from 'sharp';
import { fitImage } from '../../../networks/bluesky/files/fit-image.ts';
import { NetworkError } from '../../../networks/network.ts';
import { openConnection } from '../connection.ts';
import { fileOf } from '../files.ts';

const connectionOf = (t: ExecutionContext, signal = new AbortController().signal) =>
  openConnection(
    t,
    {
      baseUrl: 'http://127.0.0.1:1',
      remoteId: 'did:plc:a',
      handle: 'a.test',
      credentials: {},
      session: null,
      settings: {},
    },
    { signal },
  );

/** A picture that is counted each time that it is read to its end. */
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
        throw new NetworkError('media_refused', 'It is gone.', { taken: 'no' });
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

test('an image is encoded once for a size, for all posts and tries', async (t) => {
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

test('a try that is given up takes the image from no other try', async (t) => {
  const { file, so } = await countedFile();
  const abort = new AbortController();
  const first = fitImage(connectionOf(t, abort.signal), file, 200_000);
  const second = fitImage(connectionOf(t), file, 200_000);
  abort.abort(new Error('Given up.'));
  await t.throwsAsync(first, { code: 'internal' } as object);
  t.true((await second).width > 0);
  t.is(so.read, 1);
});
