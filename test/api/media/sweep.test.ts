import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../../domain/errors.ts';
import { createStorage } from '../../../runtime/storage/create-storage.ts';
import { diskStorage } from '../../../runtime/storage/disk-storage.ts';
import type { MediaStorage } from '../../../runtime/storage/media-storage.ts';
import { newClient } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import {
  ageUnclaimed,
  filesOf,
  newFilesOf,
  noTemporal,
  rowsOf,
  startLibrary,
  sweepLibrary,
  unsettledOf,
  upload,
} from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import type { Punctual } from '../../support/punctual.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

// In series, because they sweep one library and check its folder.
const test = needs('postgres').serial;
const api = sharedApi(needs('postgres'), { temporalEnv: noTemporal });

async function workspace() {
  const { punctual } = api;
  const client = await api.newClient();
  const newFile = async (): Promise<string> =>
    (await upload(punctual, client, { bytes: await picture() })).body.media.id;
  return { punctual, client, files: await newFilesOf(punctual), newFile };
}

/** Makes all files of the staging folder two hours old. */
async function ageStaged({ mediaDir }: Punctual): Promise<void> {
  const folder = path.join(mediaDir, 'incoming');
  const then = new Date(Date.now() - 2 * 60 * 60_000);
  for (const name of await readdir(folder)) {
    await utimes(path.join(folder, name), then, then);
  }
}

/** Leaves a file as a crash between its bytes and its commit does. */
async function crash({ orm }: Punctual, id: string): Promise<void> {
  const em = orm.em.fork();
  await em.execute('update media_files set stored_at = null where id = ?', [id]);
}

test('staged files of a killed process are removed after an hour, and not before', async (t) => {
  const { punctual, files } = await workspace();
  await writeFile(path.join(punctual.mediaDir, 'incoming', 'x.part'), 'half a pict');
  await sweepLibrary(punctual);
  t.deepEqual(await files(), ['x.part']);
  await ageStaged(punctual);
  await sweepLibrary(punctual);

  t.deepEqual(await files(), []);
});

test('a stored file that did not reach the library is removed with its row after an hour, and others are kept', async (t) => {
  const { punctual, client, files, newFile } = await workspace();
  const [kept, lost] = [await newFile(), await newFile()];
  await crash(punctual, lost);
  t.deepEqual(
    (await client.get('/media')).body.media.map(({ id }: { id: string }) => id),
    [kept],
  );
  t.is((await client.post('/posts', { body: 'x', media_ids: [lost] })).status, 400);
  await sweepLibrary(punctual);
  t.is((await files()).length, 2);
  await ageUnclaimed(punctual);
  await sweepLibrary(punctual);

  t.deepEqual(await files(), [kept]);
  t.deepEqual(await unsettledOf(punctual), []);
  t.like(await client.get(`/media/${lost}`), { status: 404 });
  const rows = await punctual.orm.em.fork().execute('select from media_files where id = ?', [lost]);
  t.is(rows.length, 0);
});

test('a request that still runs when its file is swept fails, and inserts no row without bytes', async (t) => {
  const entered = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const storage = diskStorage(await temporaryFolder(t));
  const slow: MediaStorage = {
    ...storage,
    async put(...args) {
      await storage.put(...args);
      entered.resolve();
      await goOn.promise;
    },
  };
  const punctual = await startLibrary(t, { media: { storage: slow } });
  const client = await newClient(punctual);
  const uploading = upload(punctual, client, { bytes: await picture() });
  await entered.promise;
  await ageUnclaimed(punctual);
  await sweepLibrary(punctual, storage);
  goOn.resolve();

  t.like(await uploading, { status: 503, body: { code: 'unavailable' } });
  t.is(await rowsOf(punctual, client.workspaceId), 0);
});

/** A storage with one failing operation. */
const broken = (storage: MediaStorage, step: 'put' | 'remove'): MediaStorage => ({
  ...storage,
  [step]: () => Promise.reject(new AppError('unavailable', 'The media storage does not answer.')),
});

test('a storage that does not answer: 503, no row, and the file that it may have stored is removed later', async (t) => {
  const storage = diskStorage(await temporaryFolder(t));
  const punctual = await startLibrary(t, { media: { storage: broken(storage, 'put') } });
  const client = await newClient(punctual);
  const { status, headers } = await upload(punctual, client, { bytes: await picture() });

  t.is(status, 503);
  t.truthy(headers.get('retry-after'));
  t.is(await rowsOf(punctual, client.workspaceId), 0);
  t.is((await unsettledOf(punctual)).length, 1);
  await ageUnclaimed(punctual);
  await sweepLibrary(punctual, storage);
  t.deepEqual(await unsettledOf(punctual), []);
});

test('a deleted file that the storage could not remove is removed later', async (t) => {
  const folder = await temporaryFolder(t);
  const storage = diskStorage(folder);
  const punctual = await startLibrary(t, { media: { storage: broken(storage, 'remove') } });
  const client = await newClient(punctual);
  const { body } = await upload(punctual, client, { bytes: await picture() });
  t.is((await client.delete(`/media/${body.media.id}`)).status, 200);
  t.deepEqual(await filesOf({ mediaDir: folder }), [body.media.id]);

  await ageUnclaimed(punctual);
  await sweepLibrary(punctual, storage);
  t.deepEqual(await filesOf({ mediaDir: folder }), []);
});

test('a file that the sweep cannot remove does not stop the others', async (t) => {
  const { punctual, files, newFile } = await workspace();
  const incoming = path.join(punctual.mediaDir, 'incoming');
  for (const name of ['.DS_Store', 'a-folder.part/in-it', 'z.part']) {
    await mkdir(path.join(incoming, path.dirname(name)), { recursive: true });
    await writeFile(path.join(incoming, name), '');
  }
  const [stuck, second, third] = [await newFile(), await newFile(), await newFile()];
  for (const id of [stuck, second, third]) {
    await crash(punctual, id);
  }
  await ageStaged(punctual);
  await ageUnclaimed(punctual);
  const storage = createStorage({ mediaDir: punctual.mediaDir, s3: null });
  await sweepLibrary(punctual, {
    ...storage,
    remove: (key) => (key === stuck ? Promise.reject(new Error('Denied.')) : storage.remove(key)),
  });

  t.deepEqual((await files()).toSorted(), ['.DS_Store', 'in-it', stuck].toSorted());
  t.deepEqual(await unsettledOf(punctual), [stuck]);
  await ageUnclaimed(punctual);
  await sweepLibrary(punctual, storage);
  t.false((await files()).includes(stuck));
});
