import { picture } from '../../support/media-files.ts';
import { must, statusOf, type Attack, type Target } from '../attack.ts';
import { crc32, deflateSync } from 'node:zlib';

// Small files that claim to be large, built byte by byte: a library would create the large content.

/** A WebP with this many frames of one pixel, about 40 bytes each. */
function animatedWebp(frames: number): Buffer {
  const pixel = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64').subarray(
    12,
  );
  const head = Buffer.alloc(16);
  const frame = riffChunk('ANMF', Buffer.concat([head, pixel]));
  const extended = riffChunk('VP8X', Buffer.from([2, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
  const animation = riffChunk('ANIM', Buffer.alloc(6));
  const content = Buffer.concat([
    Buffer.from('WEBP'),
    extended,
    animation,
    ...Array<Buffer>(frames).fill(frame),
  ]);
  return riffChunk('RIFF', content);
}

function riffChunk(name: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, 'latin1');
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}

/** A GIF with this many frames of one pixel. */
function longGif(frames: number): Buffer {
  const head = Buffer.from(
    'GIF89a\u0001\u0000\u0001\u0000\u0080\u0000\u0000\u0000\u0000\u0000\u00ff\u00ff\u00ff',
    'latin1',
  );
  const frame = Buffer.from([
    0x21, 0xf9, 4, 0, 1, 0, 0, 0, 0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0,
  ]);
  return Buffer.concat([head, ...Array<Buffer>(frames).fill(frame), Buffer.from([0x3b])]);
}

/** A PNG whose header claims this many pixels on each side, with 1,000 compressed rows. */
function giantPng(side: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([1, 0, 0, 0, 0], 8); // One bit of grey per pixel.
  const rows = deflateSync(Buffer.alloc((Math.ceil(side / 8) + 1) * 1000));
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    pngChunk('IHDR', header),
    pngChunk('IDAT', rows),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

type Part = { readonly head: string; readonly content: Uint8Array };

const disposition = 'content-disposition: form-data; name="file"; filename="a.png"';

/** Sends an upload with exactly these parts. @returns the status. */
function upload({ url, attacker }: Target, ...parts: readonly Part[]): Promise<number> {
  const pieces = parts.flatMap(({ head, content }) => [
    Buffer.from(`--b\r\n${head}\r\n\r\n`, 'latin1'),
    content,
    Buffer.from('\r\n'),
  ]);
  return statusOf(`${url}/api/v1/media`, {
    method: 'POST',
    body: new Uint8Array(Buffer.concat([...pieces, Buffer.from('--b--\r\n')])),
    headers: {
      authorization: `Bearer ${attacker.key}`,
      'content-type': 'multipart/form-data; boundary=b',
    },
  });
}

const isRefused = (status: number): boolean => status >= 400 && status < 500;

/** Parts that are refused with any content. */
const heads: Readonly<Record<string, string>> = {
  'in base64, as for mail': `content-transfer-encoding: base64\r\n${disposition}`,
  'in an unknown encoding': `content-transfer-encoding: 9bit\r\n${disposition}`,
  'with 200 kB of quotes in its head': `x-note: ${'"a"-'.repeat(50_000)}\r\n${disposition}`,
  'with a name of 2 MB': disposition.replace('a.png', String.raw`\"a\"-`.repeat(400_000)),
  'with 20 MB of head': `x-note: ${'a'.repeat(20_000_000)}\r\n${disposition}`,
};

const wrongHeads = Object.entries(heads).map(([name, head]): Attack => ({
  name: `upload: a part ${name}`,
  run: async (target) => {
    const status = await upload(target, { head, content: await picture() }).catch(closed);
    return must(isRefused(status), `answered with ${status}`);
  },
}));

/** The service may close a refused upload while it is sent. */
const closed = (): number => 400;

const honest: Attack = {
  name: 'upload: a part with the encoding 8bit, as honest clients send it',
  run: async (target) => {
    const head = `content-transfer-encoding: 8bit\r\n${disposition}`;
    const status = await upload(target, { head, content: await picture() });
    return must(status === 201, `answered with ${status}`);
  },
};

const manyParts: Attack = {
  name: 'upload: ten thousand parts',
  run: async (target) => {
    const parts = Array.from({ length: 10_000 }, (_, n) => {
      return { head: `content-disposition: form-data; name="a${n}"`, content: new Uint8Array(1) };
    });
    const status = await upload(target, ...parts).catch(closed);
    return must(isRefused(status), `answered with ${status}`);
  },
};

/** Images that are cheap to send and expensive to inspect, four of each at once. */
const pictures: Readonly<Record<string, () => Uint8Array>> = {
  'an animation of 100,000 frames': () => animatedWebp(100_000),
  'a GIF of 100,000 frames': () => longGif(100_000),
  'a PNG of 60,000 by 60,000 pixels': () => giantPng(60_000),
};

const bombs = Object.entries(pictures).map(([name, make]): Attack => ({
  name: `upload: ${name}, four times at once`,
  run: async (target) => {
    const content = make();
    const statuses = await Promise.all(
      Array.from({ length: 4 }, () => upload(target, { head: disposition, content })),
    );
    return statuses.flatMap((status) =>
      must(isRefused(status) || status === 503 || status === 201, `answered with ${status}`),
    );
  },
}));

export const uploadAttacks: readonly Attack[] = [honest, ...wrongHeads, manyParts, ...bombs];
