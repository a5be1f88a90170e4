import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import sharp from 'sharp';
import { fitImage } from '../../../networks/bluesky/images.ts';
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

test("an aborted attempt does not end another attempt's encoding of the same image", async (t) => {
  const { file, so } = await countedFile();
  const abort = new AbortController();
  const first = fitImage(connectionOf(t, abort.signal), file, 200_000);
  const second = fitImage(connectionOf(t), file, 200_000);
  abort.abort(new Error('Given up.'));
  await t.throwsAsync(first, { code: 'internal' } as object);
  t.true((await second).width > 0);
  t.is(so.read, 1);
});
