import { cp } from 'node:fs/promises';
import { startApiProcess } from '../support/api-process.ts';
import { runAdmin } from '../cli/admin/admin.ts';
import { newBucket } from '../support/bucket.ts';
import { newClient } from '../support/client.ts';
import { picture } from '../support/media-files.ts';
import { upload } from '../support/media-library.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi } from '../support/punctual.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ended, spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal', 'versitygw');

test('a process with a wrong media folder or bucket does not start, an adopted folder works, and a file that it lacks is named', async (t) => {
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
    t.regex(
      output,
      /PUNCTUAL_MEDIA_DIR \(a shared folder.*PUNCTUAL_S3_BUCKET.*storage adopt.*--adopt-storage/v,
    );
  }
  t.is(first.child.exitCode, null);

  const adopted = await runAdmin(['storage', 'adopt'], { ...settings, ...elsewhere });
  t.regex(adopted.stdout, /^This database now uses the media storage of these settings/v);
  const { id } = uploaded.body.media;
  const lack = `(PUNCTUAL_MEDIA_DIR) as files/${id.slice(-2)}/${id} (docs/`;
  t.true(adopted.stdout.includes(lack), adopted.stdout);
  const moved = await startApiProcess(t, { ...settings, ...elsewhere });
  await spawnWorker(t, punctual, [], undefined, elsewhere).logged('polling');
  await poll(moved.log, (log) => log.includes(lack));
  t.is(moved.child.exitCode, null);
  await cp(punctual.mediaDir, elsewhere.PUNCTUAL_MEDIA_DIR, { recursive: true });
  const whole = await runAdmin(['storage', 'adopt'], { ...settings, ...elsewhere });
  t.is(whole.stdout, `${adopted.stdout.split('\n')[0]}\n`);

  const { bucket, endpoint = '' } = (await newBucket(t)).settings;
  const at = { ...elsewhere, PUNCTUAL_S3_BUCKET: bucket, PUNCTUAL_S3_ENDPOINT: endpoint };
  const stranger = spawnWorker(t, punctual, [], undefined, { ...at, AWS_ACCESS_KEY_ID: 'x' });
  const nowhere = await startApiProcess(t, { ...settings, ...at, PUNCTUAL_S3_BUCKET: 'nowhere' });
  await Promise.all([ended(stranger.child), ended(nowhere.child)]);
  t.regex(stranger.output(), /of PUNCTUAL_S3_BUCKET refused a request .*access key/v);
  t.is(nowhere.child.exitCode, 1);
  t.regex(nowhere.log(), /"nowhere\\" of PUNCTUAL_S3_BUCKET refused a request \(NoSuchBucket: /v);

  const away = { PUNCTUAL_S3_BUCKET: 'media', PUNCTUAL_S3_ENDPOINT: 'http://127.0.0.1:1' };
  const keys = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' };
  const tried = await runAdmin(['storage', 'adopt'], { ...settings, ...away, ...keys });
  t.regex(tried.stderr, /media storage cannot be used now.+ECONNREFUSED/v);
  const lost = await startApiProcess(t, { ...settings, ...away, ...keys });
  await poll(lost.log, (log) => /ECONNREFUSED.*media storage cannot be compared/v.test(log));
});
