import { randomBytes } from 'node:crypto';
import { assertSealedBy } from '../../db/installation.ts';
import { createSealer } from '../../runtime/secrets.ts';
import { adminOf, runAdmin } from '../cli/admin/admin.ts';
import { startApiProcess } from '../support/api-process.ts';
import { clientFor, newClient } from '../support/client.ts';
import { holdLock } from '../support/hold-lock.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi } from '../support/punctual.ts';
import { rawCall } from '../support/raw-call.ts';
import { storedRows } from '../support/stored-rows.ts';
import { ended, spawnWorker } from '../support/worker-process.ts';
import { cp } from 'node:fs/promises';
import { newBucket } from '../support/bucket.ts';
import { picture } from '../support/media-files.ts';
import { upload } from '../support/media-library.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('temporal', 'versitygw');

const newKey = (): string => randomBytes(32).toString('hex');
const other = /SECRET_KEY \([0-9a-f]{8}\) is not the key that sealed the secrets/v;

test('no process starts with a wrong SECRET_KEY, and each names the next step', async (t) => {
  const punctual = await startApi(t);
  const right = { ...punctual.temporalEnv, DATABASE_URL: punctual.databaseUrl };
  await startApiProcess(t, { ...right, SECRET_KEY: punctual.secretKey });
  t.is((await adminOf(punctual).run('workspace', 'list')).code, 0);

  const secretKey = newKey();
  const wrong = { ...punctual, secretKey };
  const api = await startApiProcess(t, { ...right, SECRET_KEY: secretKey });
  const worker = spawnWorker(t, wrong, []);
  await Promise.all([ended(api.child), ended(worker.child)]);
  t.deepEqual([api.child.exitCode, worker.child.exitCode], [1, 1]);
  t.regex(api.log(), other);
  t.regex(worker.output(), other);
  const admin = await adminOf(wrong).run('workspace', 'create', 'A name');
  t.is(admin.code, 1);
  t.regex(admin.stderr, other);

  // The earlier key is lost.
  t.is((await adminOf(wrong).run('secret-key', 'adopt')).code, 0);
  await spawnWorker(t, wrong, []).logged('polling');
  t.is((await adminOf(punctual).run('workspace', 'list')).code, 1);
});

test('adopting the current key changes nothing, and only another key invalidates the secrets', async (t) => {
  const punctual = await startApi(t);
  const adopt = (secretKey: string) =>
    adminOf({ ...punctual, secretKey }).call('secret-key', 'adopt');
  for (const time of ['first', 'second']) {
    const { text, data } = await adopt(punctual.secretKey);
    t.regex(text, /is the one of this database already: nothing was changed/v, time);
    t.like(data, { changed: false });
  }

  const { text, data } = await adopt(newKey());
  t.regex(text, /connect each account anew/v);
  t.like(data, { changed: true });
});

test('of concurrent first processes with different keys, one is accepted', async (t) => {
  const { orm } = await startApi(t);
  const keys = Array.from({ length: 8 }, () => createSealer(newKey()).keyId);
  const outcomes = await Promise.allSettled(keys.map((key) => assertSealedBy(orm, key)));

  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('an API rejects calls that need the database until its SECRET_KEY is checked', async (t) => {
  const punctual = await startApi(t);
  const { orm, databaseUrl, temporalEnv, secretKey } = punctual;
  await assertSealedBy(orm, createSealer(secretKey).keyId);
  const { key, workspaceId } = await newClient(punctual);
  // The API cannot read the right key's id yet.
  const lock = await holdLock(t, orm, 'lock table installation');
  const settings = { ...temporalEnv, DATABASE_URL: databaseUrl };
  const api = await startApiProcess(t, { ...settings, SECRET_KEY: newKey() });
  await poll(lock.waiting, (count) => count === 1);

  const client = clientFor(api.url, workspaceId, key);
  const hook = { url: 'https://8.8.8.8/hook', events: ['post.published'] };
  const file = `${api.url}/files/${'a'.repeat(32)}/a.png`;
  for (const reply of [
    await client.post('/webhooks', hook),
    await client.get('/me'),
    await rawCall(file),
  ]) {
    t.is(reply.status, 503);
    t.is(reply.body.code, 'unavailable');
    t.regex(reply.headers.get('retry-after') ?? '', /^[1-9]\d?$/v);
  }

  t.is((await rawCall(`${api.url}/api/v1/me`)).status, 401);
  t.is((await rawCall(`${api.url}/healthz`)).status, 200);
  t.like((await rawCall(`${api.url}/readyz`)).body, { postgresql: 'is being prepared' });
  t.is((await storedRows(orm, workspaceId))['webhook_endpoints'], 0);
  const gone = ended(api.child);
  lock.release();
  await gone;
  t.is(api.child.exitCode, 1);
  t.regex(api.log(), other);
});

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
