import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { fileBytes } from '../../networks/http.ts';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fakeNetwork } from '../support/networks.ts';

const database = beforeTests(test, freshDatabase);

/**
 * Runs an attempt whose network reads a file of 200 kB with `read`. @returns the worker's log lines about unreadable
 * files.
 */
async function linesOf(
  t: ExecutionContext,
  read: (bytes: AsyncGenerator<Buffer>) => Promise<unknown>,
  breaksOff = false,
): Promise<string[]> {
  const network = fakeNetwork();
  network.upload = async (_connection, { parts }) => {
    const media = parts.flatMap((part) => part.media);
    for (const file of media) {
      await read(fileBytes(file));
    }
    return media.map(({ name }) => name);
  };
  const channel = await clockedChannel(t, network, database().url);
  const { storage } = channel.deps;
  const open = storage.open.bind(storage);
  if (breaksOff) {
    storage.open = async (...args) =>
      (await open(...args))?.once('data', function (this: Readable) {
        this.destroy(new Error('The disk is gone.'));
      }) ?? null;
  }
  const bytes = Buffer.alloc(200_000, 'v');
  const facts = { name: 'clip.mp4', type: 'video/mp4', width: 10, height: 10 };
  const post = await channel.newPost(['Look'], [{ ...facts, bytes }]);
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  await post.attempt(channel.newWorker({ log }));
  return lines.filter((line) => line.includes('a file cannot be read'));
}

test('a file that cannot be read is logged, and a file that is read partly is not', async (t) => {
  const whole = await linesOf(t, (bytes) => buffer(Readable.from(bytes)));
  const inPart = await linesOf(t, async (bytes) => {
    await bytes.next();
    await bytes.return(undefined);
  });
  const broken = await linesOf(t, (bytes) => buffer(Readable.from(bytes)), true);
  t.deepEqual([whole.length, inPart.length, broken.length], [0, 0, 1]);
});
