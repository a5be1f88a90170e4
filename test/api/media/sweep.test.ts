import { readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sweepMedia } from '../../../api/media/sweep-media.ts';
import { AppError } from '../../../domain/errors.ts';
import type { MediaStorage } from '../../../runtime/storage/media-storage.ts';
import { diskStorage } from '../../../runtime/storage/disk-storage.ts';
import { createStaging, createStorage } from '../../../runtime/storage/create-storage.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { newClient } from '../../support/client.ts';
import { picture } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import type { Punctual } from '../../support/punctual.ts';
import { startLibrary } from './support/start-library.ts';
import { testLog } from '../../support/temporal.ts';
import { filesOf, rowsOf, upload } from './support/library.ts';

const test = needs('postgres');

/** Makes everything in the staging folder two hours old. */
async function age({ mediaDir }: Punctual): Promise<void> {
  const folder = path.join(mediaDir, 'incoming');
  const then = new Date(Date.now() - 2 * 60 * 60_000);
  for (const name of await readdir(folder)) {
    await utimes(path.join(folder, name), then, then);
  }
}

async function sweep({ orm, mediaDir }: Punctual, storage?: MediaStorage): Promise<void> {
  const stored = { mediaDir, s3: null };
  const media = {
    storage: storage ?? createStorage(stored),
    staging: await createStaging(stored),
    downloader: { download: () => Promise.reject(new Error('Nothing is downloaded here.')) },
    refuseUrl: () => null,
    stallMs: 1000,
  };
  await sweepMedia({ orm, log: testLog, media });
}

test('what a killed process left on its way in is removed after an hour, and not before', async (t) => {
  const punctual = await startLibrary(t);
  await writeFile(path.join(punctual.mediaDir, 'incoming', 'x.part'), 'half a pict');
  await sweep(punctual);
  t.deepEqual(await filesOf(punctual), ['x.part']);
  await age(punctual);
  await sweep(punctual);

  t.deepEqual(await filesOf(punctual), []);
});

test('a stored file whose row was never made is removed, and one that has its row stays', async (t) => {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  const [kept, lost] = [
    (await upload(punctual, client, { bytes: await picture() })).body.media.id,
    (await upload(punctual, client, { bytes: await picture() })).body.media.id,
  ];
  const staging = await createStaging({ mediaDir: punctual.mediaDir, s3: null });
  await staging.note(kept);
  await staging.note(lost);
  await punctual.orm.em.fork().execute('delete from media_files where id = ?', [lost]);
  await age(punctual);
  await sweep(punctual);

  t.deepEqual(await filesOf(punctual), [kept]);
});

test('a sweep while the database is away loses nothing', async (t) => {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  const { body } = await upload(punctual, client, { bytes: await picture() });
  const staging = await createStaging({ mediaDir: punctual.mediaDir, s3: null });
  await staging.note(body.media.id);
  await age(punctual);
  const away = { em: { fork: () => ({ execute: () => Promise.reject(new Error('away')) }) } };
  await sweep({ ...punctual, orm: away as unknown as Punctual['orm'] });

  t.is((await filesOf(punctual)).length, 2);
  await sweep(punctual);
  t.deepEqual(await filesOf(punctual), [body.media.id]);
});

/** A storage on the disk, of which one step does not work. */
const broken = (folder: string, step: 'put' | 'remove'): MediaStorage => ({
  ...diskStorage(folder),
  [step]: () => Promise.reject(new AppError('unavailable', 'The media storage does not answer.')),
});

test('a storage that does not answer: 503, no row, and what it may have kept is noted', async (t) => {
  const storage = broken(await temporaryFolder(t), 'put');
  const punctual = await startLibrary(t, { media: { storage } });
  const client = await newClient(punctual);
  const { status, headers } = await upload(punctual, client, { bytes: await picture() });

  t.is(status, 503);
  t.truthy(headers.get('retry-after'));
  t.is(await rowsOf(punctual, client.workspaceId), 0);
  t.regex((await filesOf(punctual)).join(), /^[0-9a-f\-]{36}\.note$/v);
});

test('a deleted file that the storage could not remove is removed later', async (t) => {
  const folder = await temporaryFolder(t);
  const punctual = await startLibrary(t, { media: { storage: broken(folder, 'remove') } });
  const client = await newClient(punctual);
  const { body } = await upload(punctual, client, { bytes: await picture() });
  t.is((await client.delete(`/media/${body.media.id}`)).status, 200);
  t.deepEqual(await filesOf({ mediaDir: folder }), [body.media.id]);

  await age(punctual);
  await sweep(punctual, diskStorage(folder));
  t.deepEqual(await filesOf({ mediaDir: folder }), []);
  t.deepEqual(await filesOf(punctual), []);
});
