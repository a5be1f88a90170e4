import { readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { createWorkspace } from '../../../cli/workspaces.ts';
import type { MediaStorage } from '../../../runtime/storage/media-storage.ts';
import { diskStorage } from '../../../runtime/storage/disk-storage.ts';
import { s3Storage } from '../../../runtime/storage/s3-storage.ts';
import { newBucket } from '../../support/bucket.ts';
import { freshDatabase } from '../../support/database.ts';
import { sweepLibrary } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const test = needs('postgres');
const day = 24 * 60 * 60_000;

/** A key as the API creates it, of this age. */
function keyOf(daysAgo: number): string {
  const at = Math.round(Date.now() - daysAgo * day)
    .toString(16)
    .padStart(12, '0');
  return `${at.slice(0, 8)}-${at.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}

/** A database that is ten days old, with a storage. */
async function library(t: ExecutionContext, storage: MediaStorage) {
  const [{ orm }, mediaDir] = [await freshDatabase(t), await temporaryFolder(t)];
  const em = orm.em.fork();
  await em.execute(`update migrations set executed_at = now() - interval '10 days'`);
  const workspaceId = await createWorkspace(em.fork(), 'Test');
  const row = (id: string, facts: object = {}) =>
    storeMedia({ orm }, workspaceId, { id, storageKey: id, ...facts });
  const file = path.join(mediaDir, 'file');
  const put = async (key: string): Promise<string> => {
    await writeFile(file, 'x');
    await storage.put(key, file, { type: 'image/png', sizeBytes: 1 });
    return key;
  };
  const sweep = (): Promise<void> => sweepLibrary({ orm, mediaDir }, storage);
  const isThere = async (key: string): Promise<boolean> => {
    const body = await storage.open(key);
    body?.destroy();
    return body !== null;
  };
  return { em, row, put, sweep, isThere };
}

const storages: [string, typeof test, (t: ExecutionContext) => Promise<MediaStorage>][] = [
  ['disk', test, async (t) => diskStorage(await temporaryFolder(t))],
  [
    's3',
    needs('postgres', 'versitygw'),
    async (t) => {
      const storage = s3Storage((await newBucket(t)).settings);
      t.teardown(() => storage.close());
      return storage;
    },
  ],
];
for (const [name, testOf, open] of storages) {
  testOf(`${name}: unknown stored files are removed when they are a day old`, async (t) => {
    const { em, row, put, sweep, isThere } = await library(t, await open(t));
    const [unknown, deleted] = [await put(keyOf(2)), await put(keyOf(3))];
    await row(deleted, { deletedAt: new Date() });
    const [known, fresh, older] = [
      await put(keyOf(2)),
      await put(keyOf(0.9)),
      await put(keyOf(11)),
    ];
    await row(known);
    const inRequest = await put(keyOf(2));
    await em.execute(
      'insert into unsettled_files (id, noted_at, is_lost) values (?, now(), false)',
      [inRequest],
    );
    const foreign = await put(crypto.randomUUID());
    await sweep();

    for (const key of [unknown, deleted]) {
      t.false(await isThere(key));
    }
    for (const key of [known, fresh, older, inRequest, foreign]) {
      t.true(await isThere(key));
    }
    await sweep();
    t.true(await isThere(known));
  });
}

for (const [name, testOf, open] of storages) {
  testOf(`${name}: if two databases have files, neither removes unknown ones`, async (t) => {
    const storage = await open(t);
    const [one, other] = [await library(t, storage), await library(t, storage)];
    await one.sweep();
    const key = await one.put(keyOf(2));
    await one.row(key);
    await other.sweep();
    t.true(await one.isThere(key));

    const unknown = await one.put(keyOf(2));
    await one.sweep();
    t.true(await one.isThere(unknown));
  });
}

test('a database that has not been seen for a week does not prevent a comparison', async (t) => {
  const folder = await temporaryFolder(t);
  const storage = diskStorage(folder);
  const [gone, here] = [await library(t, storage), await library(t, storage)];
  await gone.sweep();
  const [mark = ''] = await readdir(path.join(folder, 'databases'));
  const then = new Date(Date.now() - 7.1 * day);
  await utimes(path.join(folder, 'databases', mark), then, then);
  const key = await here.put(keyOf(2));
  await here.sweep();

  t.false(await here.isThere(key));
});

/** A storage with this many pages of unknown files. */
function largeStorage(pages: number, size: number) {
  const asked: (string | null)[] = [];
  const storage: MediaStorage = {
    put: () => Promise.reject(new Error('Nothing is stored here.')),
    open: () => Promise.resolve(null),
    remove: () => Promise.resolve(),
    async list(position) {
      asked.push(position);
      const page = Number(position ?? 0) + 1;
      const keys = Array.from({ length: size }, (_, n) => `${page}-${n}`);
      return {
        keys,
        next: page < pages ? String(page) : null,
        ...(page === 2 ? { obstacle: new Error('Denied.') } : {}),
      };
    },
    markUsed: (database) => Promise.resolve([database]),
    claim: () => Promise.resolve(),
    isClaimed: () => Promise.resolve(true),
    close: () => undefined,
  };
  return { asked, storage };
}

test('a sweep compares a part of a large storage, and the next one continues', async (t) => {
  const { asked, storage } = largeStorage(5, 5000);
  const { sweep } = await library(t, storage);
  const sweeps: (string | null)[][] = [];
  for (let count = 0; count < 4; count += 1) {
    await sweep();
    sweeps.push(asked.splice(0));
  }

  t.deepEqual(sweeps, [[null, '1'], ['2', '3'], ['4'], [null, '1']]);
});

test('if the storage cannot be listed, abandoned files are still removed', async (t) => {
  const disk = diskStorage(await temporaryFolder(t));
  const { em, put, sweep, isThere } = await library(t, {
    ...disk,
    list: () => Promise.reject(new Error('Denied.')),
  });
  const key = await put(keyOf(2));
  await em.execute(
    `insert into unsettled_files (id, noted_at, is_lost)
     values (?, now() - interval '2 hours', false)`,
    [key],
  );
  await sweep();

  t.false(await isThere(key));
});
