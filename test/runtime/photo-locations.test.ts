import test, { type ExecutionContext } from 'ava';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { createInspector } from '../../runtime/media/inspector.ts';
import { inputFile } from '../support/input-file.ts';
import { animation, picture } from '../support/media-files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const inspector = createInspector({ waitMs: 300_000, timeoutMs: 300_000 });

/** The bytes that are stored for an upload. */
async function stored(t: ExecutionContext, bytes: Uint8Array): Promise<Buffer> {
  const file = path.join(await temporaryFolder(t), 'file');
  await writeFile(file, bytes);
  const facts = await inspector.inspect(file, 'a workspace');
  t.false('refusal' in facts, JSON.stringify(facts));
  return readFile(file);
}

const pixelsOf = (bytes: Buffer): Promise<Buffer> => sharp(bytes).raw().toBuffer();

const place = {
  IFD0: { Artist: 'Ana of Bilbao' },
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '43/1 15/1 46/1', GPSLongitudeRef: 'W' },
};

for (const format of ['jpeg', 'png', 'webp'] as const) {
  test(`a ${format} loses its location, and keeps its pixels, orientation and colours`, async (t) => {
    const bytes = await sharp(await picture('png', { width: 60, height: 40 }))
      .toFormat(format)
      .withExif(place)
      .withMetadata({ orientation: 6, icc: 'p3' })
      .withExifMerge(place)
      .toBuffer();
    const before = await sharp(bytes).metadata();
    t.true(bytes.includes('Ana of Bilbao'), 'The test image has a location.');
    t.truthy(before.icc);

    const after = await stored(t, bytes);
    t.false(after.includes('Ana of Bilbao'));
    t.false(after.includes(Buffer.from('2588040001000000', 'hex')));
    const { orientation, icc } = await sharp(after, { failOn: 'warning' }).metadata();
    t.deepEqual({ orientation, icc }, { orientation: 6, icc: before.icc });
    t.deepEqual(await pixelsOf(after), await pixelsOf(bytes));
    t.is(after.length, bytes.length);
    t.deepEqual(await stored(t, after), after, 'A second pass removes nothing more.');
  });

  test(`a ${format} loses XMP with its location`, async (t) => {
    const xmp =
      '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:GPSLatitude="43,15.77N"/></rdf:RDF></x:xmpmeta>';
    const bytes = await sharp(await picture())
      .toFormat(format)
      .withXmp(xmp)
      .toBuffer();
    t.truthy((await sharp(bytes).metadata()).xmp);

    const after = await stored(t, bytes);
    t.false(after.includes('GPSLatitude'));
    t.deepEqual(await pixelsOf(after), await pixelsOf(bytes));
  });

  test(`a ${format} with other metadata is stored unchanged`, async (t) => {
    const bytes = await sharp(await picture())
      .toFormat(format)
      .withExif({ IFD0: { Copyright: 'Ana' } })
      .toBuffer();

    t.deepEqual(await stored(t, bytes), bytes);
  });
}

test('the photo of a bug report loses its GPS data', async (t) => {
  const bytes = inputFile('jpeg-with-gps.jpg');
  const after = await stored(t, bytes);

  t.false(after.includes('Phone 1'));
  t.deepEqual(await pixelsOf(after), await pixelsOf(bytes));
});

for (const format of ['jpeg', 'png', 'webp', 'gif'] as const) {
  test(`what follows the end of a ${format} is removed`, async (t) => {
    const bytes = await picture(format);
    for (const after of [inputFile('jpeg-with-gps.jpg'), await picture(format), Buffer.alloc(9)]) {
      t.deepEqual(await stored(t, Buffer.concat([bytes, after])), bytes);
    }
  });
}

test('the motion photo of a bug report loses its video, which has the location', async (t) => {
  const bytes = inputFile('motion-photo-location-in-its-video.jpg');
  t.true(bytes.includes('+48.8584'));
  const after = await stored(t, bytes);

  t.false(after.includes('+48.8584'));
  t.deepEqual(after, bytes.subarray(0, after.length));
  t.deepEqual(await pixelsOf(after), await pixelsOf(bytes));
});

/** A segment of a JPEG. */
const segment = (marker: number, data: string): Buffer =>
  Buffer.concat([Buffer.from([0xff, marker, 0, data.length + 2]), Buffer.from(data, 'latin1')]);
const chunk = (name: string, data: string): Buffer => {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(name + data));
  return Buffer.concat([length, Buffer.from(name + data), sum]);
};
/** Bytes that let decoders of GIFs, which take XMP for blocks, arrive at its end. */
const afterXmp = Buffer.from([1, ...Array.from({ length: 255 }, (_, index) => 255 - index), 0, 0]);
const xmpInGif = Buffer.concat([
  Buffer.from('\x21\xff\x0bXMP DataXMP<x exif:GPSLatitude="43,15.77N"/>', 'latin1'),
  afterXmp,
]);
const comment = Buffer.from('\x21\xfe\x0eGPSLatitude 43\x00', 'latin1');
const inside = (bytes: Buffer, at: number, ...more: readonly Buffer[]): Buffer =>
  Buffer.concat([bytes.subarray(0, at), ...more, bytes.subarray(at)]);

const unshown: Readonly<Record<string, () => Promise<Buffer>>> = {
  'a GIF with XMP and a comment': async () => {
    const bytes = await animation('gif', [100, 250]);
    return inside(bytes, bytes.indexOf(Buffer.from([0x21, 0xff])), xmpInGif, comment);
  },
  'a JPEG with an index of more pictures and long XMP': async () =>
    inside(
      await picture('jpeg'),
      2,
      segment(0xe2, 'MPF\0 GPSLatitude'),
      segment(0xe1, 'http://ns.adobe.com/xmp/extension/\0 GPSLatitude'),
    ),
  'a PNG with a text behind its pixels': async () => {
    const bytes = await picture('png');
    return inside(bytes, bytes.indexOf('IEND') - 4, chunk('tEXt', 'XML\0GPSLatitude'));
  },
};
for (const [what, make] of Object.entries(unshown)) {
  test(`${what} loses the location in them`, async (t) => {
    const bytes = await make();
    t.true(bytes.includes('GPSLatitude'));
    const after = await stored(t, bytes);

    t.false(after.includes('GPSLatitude'));
    t.is(after.length, bytes.length);
    const { delay, pages } = await sharp(bytes).metadata();
    t.like(await sharp(after, { failOn: 'warning' }).metadata(), { delay, pages });
    t.deepEqual(await pixelsOf(after), await pixelsOf(bytes));
  });
}

test('a metadata block that claims more bytes than the file has is not written to', async (t) => {
  const bytes = await sharp(await picture())
    .png()
    .withExif(place)
    .toBuffer();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(0x7f_ff_ff_00);
  length.copy(bytes, bytes.indexOf('IDAT') - 4);
  const file = path.join(await temporaryFolder(t), 'file');
  await writeFile(file, bytes);

  t.true('refusal' in (await inspector.inspect(file, 'a workspace')));
  t.is((await readFile(file)).length, bytes.length);
});
