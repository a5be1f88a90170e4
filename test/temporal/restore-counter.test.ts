import {
  incrementRestoreCounter,
  markDatabaseBehind,
  readRestoreCounter,
} from '../../db/restore-counter.ts';
import type { Orm } from '../../db/orm.ts';
import { loadStoredCounter, storeCounter } from '../../temporal/namespace.ts';
import { needs } from '../support/needs.ts';
import { startApi } from '../support/punctual.ts';
import { freshNamespace, temporalClient } from '../support/temporal.ts';

const test = needs('temporal');

const setCount = (orm: Orm, count: number) =>
  orm.em.fork().execute('update installation set beats = ?, beat_at = null', [count]);

test('a database is behind only if it lacks more than one beat', async (t) => {
  const { orm } = await startApi(t);
  await setCount(orm, 5);

  // As after a failover that lost the last seconds, or while another worker counts during the comparison.
  await markDatabaseBehind(orm, 6);
  t.is((await readRestoreCounter(orm)).behindSince, null);

  await markDatabaseBehind(orm, 7);
  t.not((await readRestoreCounter(orm)).behindSince, null);
});

test('of concurrent workers one counts a beat, and none after the database was replaced', async (t) => {
  const { orm } = await startApi(t);
  await setCount(orm, 5);

  const counts = await Promise.all(
    Array.from({ length: 5 }, () => incrementRestoreCounter(orm, 5)),
  );
  t.deepEqual(
    counts.filter((count) => count !== null),
    [6],
  );

  await setCount(orm, 2);
  t.is(await incrementRestoreCounter(orm, 6), null);
  t.is((await readRestoreCounter(orm)).count, 2);
});

test('the count in Temporal never decreases, and is lost with its namespace', async (t) => {
  const settings = await freshNamespace();
  const { client } = temporalClient(t, settings, { patientTemporal: true });
  t.is(await loadStoredCounter(client, 'ours'), null);
  await storeCounter(client, 'ours', 7);
  t.is(await loadStoredCounter(client, 'ours'), 7);

  await storeCounter(client, 'ours', 6);
  t.is(await loadStoredCounter(client, 'ours'), 7);

  t.is(await loadStoredCounter(client, 'another database'), null);
});
