import { readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { diskStorage } from '../../../runtime/storage/disk-storage.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { newKey, storageSuite } from './suite.ts';

storageSuite(test, 'disk', async (t) => {
  const folder = await temporaryFolder(t);
  return { folder, storage: diskStorage(path.join(folder, 'files')) };
});

test('files lie in folders by the end of their keys, for nobody else to read', async (t) => {
  const folder = await temporaryFolder(t);
  const storage = diskStorage(path.join(folder, 'files'));
  const [key, file] = [newKey(), path.join(folder, 'file')];
  await writeFile(file, 'x');
  await storage.put(key, file, { type: 'image/png', sizeBytes: 1 });

  t.deepEqual(await readdir(path.join(folder, 'files')), [key.slice(-2)]);
  t.deepEqual(await readdir(path.join(folder, 'files', key.slice(-2))), [key]);
  t.is((await stat(path.join(folder, 'files'))).mode & 0o777, 0o700);
});

for (const key of ['../../etc/passwd', '', 'a/b', '..', `${'a'.repeat(35)}/`]) {
  test(`"${key}" is no key, and no file is touched for it`, async (t) => {
    const storage = diskStorage(await temporaryFolder(t));

    await t.throwsAsync(async () => storage.open(key), { instanceOf: TypeError });
    await t.throwsAsync(async () => storage.remove(key), { instanceOf: TypeError });
  });
}
