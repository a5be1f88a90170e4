import { startApiProcess } from '../support/api-process.ts';
import { runAdmin } from '../cli/admin/admin.ts';
import { newClient } from '../support/client.ts';
import { picture } from '../support/media-files.ts';
import { upload } from '../support/media-library.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi } from '../support/punctual.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ended, spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal');

test('a process with a wrong media folder does not start until that folder is adopted', async (t) => {
  const punctual = await startApi(t);
  const settings = {
    ...punctual.temporalEnv,
    DATABASE_URL: punctual.databaseUrl,
    SECRET_KEY: punctual.secretKey,
  };
  const elsewhere = { PUNCTUAL_MEDIA_DIR: await temporaryFolder(t) };

  const first = await startApiProcess(t, settings);
  const uploaded = await upload(punctual, await newClient(punctual), { bytes: await picture() });
  t.is(uploaded.status, 201);

  const worker = spawnWorker(t, punctual, [], undefined, elsewhere);
  const api = await startApiProcess(t, { ...settings, ...elsewhere });
  await Promise.all([ended(worker.child), ended(api.child)]);
  for (const [child, output] of [
    [worker.child, worker.output()],
    [api.child, api.log()],
  ] as const) {
    t.is(child.exitCode, 1);
    t.regex(output, /media storage of this process is not the one of this database/v);
    t.regex(output, /PUNCTUAL_MEDIA_DIR \(a shared folder.*PUNCTUAL_S3_BUCKET.*storage adopt/v);
  }
  t.is(first.child.exitCode, null);

  const adopted = await runAdmin(['storage', 'adopt'], { ...settings, ...elsewhere });
  t.regex(adopted.stdout, /^This database now uses the media storage of these settings/v);
  const moved = await startApiProcess(t, { ...settings, ...elsewhere });
  await spawnWorker(t, punctual, [], undefined, elsewhere).logged('polling');
  await poll(
    () => Promise.resolve(moved.log()),
    (log) => log.includes('the database is ready'),
  );
  t.is(moved.child.exitCode, null);

  const away = { PUNCTUAL_S3_BUCKET: 'media', PUNCTUAL_S3_ENDPOINT: 'http://127.0.0.1:1' };
  const keys = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' };
  const tried = await runAdmin(['storage', 'adopt'], { ...settings, ...away, ...keys });
  t.regex(tried.stderr, /media storage does not answer.+ECONNREFUSED/v);
  const lost = await startApiProcess(t, { ...settings, ...away, ...keys });
  await poll(
    () => Promise.resolve(lost.log()),
    (log) => /ECONNREFUSED.*media storage cannot be compared/v.test(log),
  );
});
