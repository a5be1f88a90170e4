import { randomBytes } from 'node:crypto';
import { mustBeSealedBy } from '../../db/secret-key.ts';
import { createSealer } from '../../runtime/sealer.ts';
import { adminOf } from '../cli/admin.ts';
import { startApiProcess } from '../support/api-process.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { startApi } from '../support/punctual.ts';
import { addFakeChannel } from '../support/seed.ts';
import { ended, spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal');

const newKey = (): string => randomBytes(32).toString('hex');
const other = /SECRET_KEY is another one \([0-9a-f]{8}\) than that under which/v;

test('no process begins with another SECRET_KEY than the one before, and the operator is told what to do', async (t) => {
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

  // The key of before is gone.
  t.is((await adminOf(wrong).run('secret-key', 'adopt')).code, 0);
  await spawnWorker(t, wrong, []).said('polling');
  t.is((await adminOf(punctual).run('workspace', 'list')).code, 1);
});

test('a database of an earlier version takes the key that opens what it holds, and no other', async (t) => {
  const punctual = await startApi(t);
  const { orm, deps, secretKey } = punctual;
  const { workspaceId } = await newClient(punctual);
  await addFakeChannel({ orm, sealer: deps.sealer }, workspaceId);

  await t.throwsAsync(mustBeSealedBy(orm, createSealer(newKey()).keyId), { message: other });
  const { keyId } = createSealer(secretKey);
  await mustBeSealedBy(orm, keyId);
  await mustBeSealedBy(orm, keyId);
  await t.throwsAsync(mustBeSealedBy(orm, createSealer(newKey()).keyId), {
    message: new RegExp(`\\(${keyId}\\)`, 'v'),
  });
});

test('of two processes that come first with different keys, one is refused', async (t) => {
  const { orm } = await startApi(t);
  const keys = Array.from({ length: 8 }, () => createSealer(newKey()).keyId);
  const outcomes = await Promise.allSettled(keys.map((key) => mustBeSealedBy(orm, key)));

  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
});
