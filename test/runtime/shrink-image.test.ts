import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import test from 'ava';
import sharp from 'sharp';
import { shrinkImage } from '../../runtime/media/shrink-image.ts';
import { animation, turnedPicture } from '../support/media-files.ts';

const never = new AbortController().signal;
const shrink = (bytes: Buffer, maxBytes: number, maxSide?: number) =>
  shrinkImage(Readable.from([bytes]), maxSide ? { maxBytes, maxSide } : { maxBytes }, never);

/** Hard to compress: no pixel depends on the next. */
const noise = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp(randomBytes(width * height * channels), { raw: { width, height, channels } });

test('an image is shrunk under the limit, with as many pixels as fit, and the same result each time', async (t) => {
  const bytes = await noise(1600, 1200).png().toBuffer();
  const made = await shrink(bytes, 400_000);
  const again = await shrink(bytes, 400_000);

  t.true(made !== null && made.bytes.length <= 400_000 && bytes.length > 5_000_000);
  t.deepEqual(made, again);
  const { width, height, format } = await sharp(made?.bytes).metadata();
  t.like(made, { width, height, type: 'image/jpeg' });
  t.is(format, 'jpeg');
  t.is((made?.width ?? 0) / (made?.height ?? 1), 4 / 3);
  t.true((made?.width ?? 0) >= 600);
});

test('transparency is kept, and an image is upright without its metadata', async (t) => {
  const clear = await shrink(await noise(300, 200, 4).png().toBuffer(), 100_000);
  t.like(clear, { type: 'image/webp', width: 300, height: 200 });
  t.true((await sharp(clear?.bytes).metadata()).hasAlpha);

  const turned = await shrink(await turnedPicture({ width: 300, height: 200 }), 100_000);
  t.like(turned, { type: 'image/jpeg', width: 200, height: 300 });
  t.is((await sharp(turned?.bytes).metadata()).exif, undefined);
});

test('an opaque result is a JPEG, white where the image was transparent', async (t) => {
  const create = { width: 30, height: 20, channels: 4, background: '#ff000000' } as const;
  const bytes = await sharp({ create }).png().toBuffer();
  const bounds = { maxBytes: 100_000, isOpaque: true };
  const made = await shrinkImage(Readable.from([bytes]), bounds, never);
  t.like(made, { type: 'image/jpeg', width: 30, height: 20 });
  t.deepEqual([...(await sharp(made?.bytes).raw().toBuffer()).subarray(0, 3)], [255, 255, 255]);
});

test('an animation becomes its first frame, and no side exceeds the requested size', async (t) => {
  t.like(await shrink(await animation('gif', [100, 100]), 100_000), { width: 30, height: 20 });
  const wide = await noise(900, 300).jpeg().toBuffer();
  t.like(await shrink(wide, 1_000_000, 600), { width: 600, height: 200 });
});

test('a file that is not an image, or cannot be made so small, gives null', async (t) => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>';
  for (const bytes of [Buffer.from('no picture'), Buffer.from(svg), Buffer.alloc(0)]) {
    t.is(await shrink(bytes, 1_000_000), null);
  }
  t.is(await shrink(await noise(800, 800).png().toBuffer(), 100), null);
});

test('a picture of unknown size with more than 30 million pixels is not decoded', async (t) => {
  const create = { width: 6000, height: 5001, channels: 3, background: 'red' } as const;
  t.is(await shrink(await sharp({ create }).webp({ effort: 0 }).toBuffer(), 1_000_000), null);
});

test('a failing stream and an aborted call end with their own errors', async (t) => {
  async function* breaking() {
    yield Buffer.from('GIF89a');
    throw new Error('The disk broke.');
  }
  await t.throwsAsync(shrinkImage(Readable.from(breaking()), { maxBytes: 9 }, never), {
    message: 'The disk broke.',
  });
  const gone = AbortSignal.abort(new Error('Gone.'));
  await t.throwsAsync(shrinkImage(Readable.from(['GIF']), { maxBytes: 9 }, gone), {
    message: 'Gone.',
  });
});

test('many images of one workspace delay another workspace’s image by at most one image', async (t) => {
  const bytes = await noise(300, 200).png().toBuffer();
  const ended: string[] = [];
  const encode = async (workspaceId: string, name: string) => {
    const wanted = { maxBytes: 100_000, workspaceId };
    await shrinkImage(Readable.from([bytes]), wanted, never);
    ended.push(name);
  };
  const crowd = [1, 2, 3, 4, 5].map((number) => encode('crowd', `crowd ${number}`));
  await Promise.all([...crowd, encode('another', 'another')]);
  t.true(ended.indexOf('another') <= 2, ended.join(', '));
});

test('a photo or a picture of a link card does not wait for the large image of another workspace', async (t) => {
  const { promise: stays, resolve: end } = Promise.withResolvers<void>();
  async function* slowly() {
    yield Buffer.from('GIF89a');
    await stays;
  }
  const large = { maxBytes: 9, pixels: 98_010_000, workspaceId: 'one' };
  const waiting = shrinkImage(Readable.from(slowly()), large, never);
  const bytes = await noise(300, 200).png().toBuffer();
  for (const size of [{ pixels: 12_000_000 }, {}]) {
    const photo = { maxBytes: 100_000, ...size, workspaceId: 'another' };
    const soon = AbortSignal.timeout(60_000);
    t.like(await shrinkImage(Readable.from([bytes]), photo, soon), { width: 300, height: 200 });
  }
  end();
  t.is(await waiting, null);
});
