import { Readable } from 'node:stream';
import test from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { fileBytes } from '../../networks/uploads/file-bytes.ts';
import { fileOf } from './files.ts';

/** A file of 9 bytes, whose storage has these pieces. */
const stored = (...pieces: readonly string[]) => ({
  ...fileOf(Buffer.from('abcdefghi'), { name: 'a.mp4', type: 'video/mp4' }),
  open: async (from = 0) => {
    const bytes = Buffer.from(pieces.join(''));
    const first = Buffer.from(pieces[0] ?? '').length;
    const ends = [first, bytes.length].filter((end) => end > from);
    return Readable.from(ends.map((end, index) => bytes.subarray(index ? first : from, end)));
  },
});

async function sentOf(bytes: AsyncIterable<Buffer>) {
  let sent = '';
  try {
    for await (const piece of bytes) {
      sent += piece.toString();
    }
    return { sent, code: null };
  } catch (error) {
    return { sent, code: error instanceof NetworkError ? error.code : error };
  }
}

test('any range of a file is sent, whatever the pieces of its storage', async (t) => {
  const file = stored('abcd', 'efghi');
  for (let from = 0; from < 9; from += 1) {
    for (let to = from + 1; to <= 9; to += 1) {
      const sent = 'abcdefghi'.slice(from, to);
      t.deepEqual(await sentOf(fileBytes(file, from, to)), { sent, code: null });
    }
  }
});

test('a file that became longer or shorter never gets its end to a network', async (t) => {
  const code = 'media_refused';
  t.deepEqual(await sentOf(fileBytes(stored('abcdefghi', 'j'))), { sent: '', code });
  t.deepEqual(await sentOf(fileBytes(stored('abcd', 'ef'))), { sent: 'abcd', code });
  t.deepEqual(await sentOf(fileBytes(stored('abcd', 'efghi', 'j'), 4)), { sent: '', code });
});
