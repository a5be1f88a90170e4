import test, { type ExecutionContext } from 'ava';
import { createCipheriv } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { createInspector } from '../../runtime/media/inspector.ts';
import { shrinkImage } from '../../runtime/media/shrink-image.ts';
import { inputFile } from '../support/input-file.ts';
import { longWebp, picture } from '../support/media-files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const inspector = createInspector({ waitMs: 300_000, timeoutMs: 300_000 });

async function inspect(t: ExecutionContext, bytes: Uint8Array) {
  const file = path.join(await temporaryFolder(t), 'file');
  await writeFile(file, bytes);
  return { facts: await inspector.inspect(file, 'a workspace'), stored: await readFile(file) };
}

/** A JPEG as large as a photo, of the same noise each time: whether a missing end is noticed depends on its last bits. */
function photo(width = 600, height = 400): Promise<Buffer> {
  const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16));
  const raw = noise.update(Buffer.alloc(width * height * 3));
  return sharp(raw, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 92 })
    .toBuffer();
}

/** The scan parameters of some Samsung phones: Ss, Se and AhAl are 0, 0, 0 instead of 0, 63, 0. */
function withBadScan(jpeg: Buffer): Buffer {
  const scan = jpeg.lastIndexOf(Buffer.from([0xff, 0xda]));
  const spectral = scan + 5 + 2 * (jpeg[scan + 4] ?? 0);
  return Buffer.from(jpeg).fill(0, spectral, spectral + 3);
}

/** Adds two bytes between two segments. */
function withExtraBytes(jpeg: Buffer): Buffer {
  const table = jpeg.indexOf(Buffer.from([0xff, 0xc4]));
  return Buffer.concat([jpeg.subarray(0, table), Buffer.from([1, 2]), jpeg.subarray(table)]);
}

const harmless: Readonly<Record<string, (jpeg: Buffer) => Buffer>> = {
  'bad scan parameters': withBadScan,
  'bytes between segments': withExtraBytes,
};
for (const [what, spoil] of Object.entries(harmless)) {
  test(`a JPEG with ${what} is accepted, and can be shrunk`, async (t) => {
    const { facts, stored } = await inspect(t, spoil(await photo()));
    t.like(facts, { type: 'image/jpeg', width: 600, height: 400 });

    const { signal } = new AbortController();
    const smaller = await shrinkImage(Readable.from([stored]), { maxBytes: 100_000 }, signal);
    t.true((smaller?.bytes.length ?? Infinity) <= 100_000);
  });
}

/** A progressive JPEG of 8 × 8 pixels, whose scans after the first are empty. */
function jpegOfScans(count: number): Buffer {
  const [one, none] = ['01', '00'].map((byte) => byte.repeat(64));
  const huffman = ['00', '10'].map((table) => `ffc40014${table}01${none?.slice(0, 32)}`);
  const tables = `ffdb004300${one}${huffman.join('')}`;
  const scans = `ffda00080101000000007f${'ffda0008010100013f007f'.repeat(count - 1)}`;
  return Buffer.from(`ffd8ffc2000b080008000801011100${tables}${scans}ffd9`, 'hex');
}

test('a JPEG of more than 50 scans, which would delay the pictures of others, is refused', async (t) => {
  const { signal } = new AbortController();
  const shrink = (count: number) =>
    shrinkImage(Readable.from([jpegOfScans(count)]), { maxBytes: 100_000 }, signal);
  t.not(await shrink(20), null);
  t.is(await shrink(51), null);
  const withVideo = Buffer.concat([jpegOfScans(20), Buffer.from('ffda'.repeat(100), 'hex')]);
  t.like((await inspect(t, withVideo)).facts, { width: 8, height: 8 });
  t.regex(JSON.stringify(await inspect(t, jpegOfScans(51))), /more than 50 scans/v);
});

const word = (value: number | string): Buffer =>
  typeof value === 'string'
    ? Buffer.from(value)
    : Buffer.from(Uint32Array.of(value).buffer).swap32();
const words = (...values: (number | string)[]): Buffer => Buffer.concat(values.map(word));

/** A PNG with a colour profile that multiplies by the same 3 × 3 matrix many times. */
async function pngOfSteps(count: number): Promise<Buffer> {
  const list = Buffer.alloc(8 * count, words(16 + 8 * count, 60));
  const matrix = Buffer.alloc(60, words('matf', 0, 0x3_0003)).fill(0, 12);
  const steps = Buffer.concat([words('mpet', 0, 0x3_0003, count), list, matrix]);
  const tags = [
    ...['wtpt', 'rXYZ', 'gXYZ', 'bXYZ'].flatMap((name) => [name, 228, 20]),
    ...['rTRC', 'gTRC', 'bTRC'].flatMap((name) => [name, 248, 12]),
  ];
  const data = ['D2B0', 260, steps.length, 'XYZ ', 0, 0, 65_536, 0, 'curv', 0, 0];
  const head = words(260 + steps.length, 0, 0x440_0000, 'mntrRGB XYZ ', 0, 0, 0, 'acsp');
  const profile = Buffer.concat([head, Buffer.alloc(88), words(8, ...tags, ...data), steps]);
  const chunk = Buffer.concat([Buffer.from('iCCPp\0\0'), deflateSync(profile)]);
  const added = [words(chunk.length - 4), chunk, words(crc32(chunk))];
  const png = await picture();
  return Buffer.concat([png.subarray(0, 33), ...added, png.subarray(33)]);
}

test('a profile of 200,000 steps or 100,000 frames take no minutes from the pictures of others', async (t) => {
  const { signal } = new AbortController();
  const shrink = (bytes: Buffer) =>
    shrinkImage(Readable.from([bytes]), { maxBytes: 100_000 }, signal);
  const bytes = await pngOfSteps(200_000);
  t.like((await inspect(t, bytes)).facts, { width: 30, height: 20 });
  t.like(await shrink(bytes), { width: 30, height: 20 });
  t.is(await shrink(await longWebp(100_000)), null);
});

test('the JPEG of a bug report is accepted', async (t) => {
  const bytes = inputFile('jpeg-bad-sos.jpg');
  const { facts, stored } = await inspect(t, bytes);

  t.like(facts, { type: 'image/jpeg' });
  t.deepEqual(stored, bytes);
});

const half = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length / 2);
const noise = async (format: 'png' | 'webp' | 'gif') =>
  sharp(await photo())
    .toFormat(format)
    .toBuffer();

const broken: Readonly<Record<string, () => Promise<Buffer> | Buffer>> = {
  'half a JPEG of a bug report': () => inputFile('jpeg-half.jpg'),
  'half a JPEG': async () => half(await photo()),
  'half a progressive JPEG': async () =>
    half(
      await sharp(await photo())
        .jpeg({ progressive: true })
        .toBuffer(),
    ),
  'a JPEG without its end marker': async () => (await photo()).subarray(0, -2),
  'half a PNG': async () => half(await noise('png')),
  'half a GIF': async () => half(await noise('gif')),
  'half a WebP': async () => half(await noise('webp')),
  'a PNG without its last bytes of pixels': async () => (await noise('png')).subarray(0, -30),
  'a PNG with a wrong byte': async () => {
    const bytes = await noise('png');
    return bytes.fill(bytes[5000] === 0 ? 1 : 0, 5000, 5001);
  },
};
for (const [what, make] of Object.entries(broken)) {
  test(`${what} is refused`, async (t) => {
    const { facts } = await inspect(t, await make());

    t.regex('refusal' in facts ? facts.refusal : JSON.stringify(facts), /^The (?:image|file) /v);
  });
}

test('a valid image is stored unchanged', async (t) => {
  for (const format of ['png', 'jpeg', 'webp', 'gif'] as const) {
    const bytes = await picture(format);
    t.deepEqual((await inspect(t, bytes)).stored, bytes, format);
  }
});
