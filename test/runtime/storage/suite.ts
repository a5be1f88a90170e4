import { access, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { ExecutionContext, TestFn } from 'ava';
import type { MediaStorage } from '../../../runtime/storage/media-storage.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

type Open = (t: ExecutionContext) => Promise<{
  readonly storage: MediaStorage;
  /** A folder from which files can be put. */
  readonly folder: string;
}>;

export const newKey = (): string => crypto.randomUUID();

/** What every storage must do. */
export function storageSuite(test: TestFn, name: string, open: Open): void {
  const put = async (t: ExecutionContext, bytes: Buffer) => {
    const { storage, folder } = await open(t);
    const [key, file] = [newKey(), path.join(folder, crypto.randomUUID())];
    await writeFile(file, bytes);
    await storage.put(key, file, { type: 'image/png', sizeBytes: bytes.length });
    const read = async (range?: Parameters<MediaStorage['open']>[1]) => {
      const stream = await storage.open(key, range);
      return stream && buffer(stream);
    };
    return { storage, key, read };
  };
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));

  test(`${name}: what was put comes out as it was, whole and in parts`, async (t) => {
    const { read } = await put(t, bytes);

    t.deepEqual(await read(), bytes);
    t.deepEqual(await read({ start: 0, end: 0 }), bytes.subarray(0, 1));
    t.deepEqual(await read({ start: 1000, end: 200_000 }), bytes.subarray(1000, 200_001));
    t.deepEqual(await read({ start: 299_999, end: 299_999 }), bytes.subarray(299_999));
  });

  test(`${name}: what was never put, or was removed, is not there`, async (t) => {
    const { storage, key, read } = await put(t, bytes);
    t.is(await storage.open(newKey()), null);
    await storage.remove(key);

    t.is(await read(), null);
    await t.notThrowsAsync(storage.remove(key));
    await t.notThrowsAsync(storage.remove(newKey()));
  });

  test(`${name}: a reader that leaves in the middle holds nothing up`, async (t) => {
    const { storage, key, read } = await put(t, Buffer.alloc(20_000_000, 'x'));
    for (let count = 0; count < 100; count += 1) {
      (await storage.open(key))?.destroy();
    }

    t.is((await read({ start: 0, end: 9 }))?.length, 10);
  });

  test(`${name}: a file of many megabytes is put and read`, async (t) => {
    const large = Buffer.alloc(30_000_000, 'abcdefghijk');
    const { read } = await put(t, large);

    t.true(large.equals((await read()) ?? Buffer.from('')));
  });

  test(`${name}: a file that is not there cannot be put, and leaves nothing`, async (t) => {
    const { storage } = await open(t);
    const key = newKey();
    const missing = path.join(await temporaryFolder(t), 'missing');
    await t.throwsAsync(storage.put(key, missing, { type: 'image/png', sizeBytes: 10 }));

    t.is(await storage.open(key), null);
    await t.throwsAsync(access(missing));
  });
}
