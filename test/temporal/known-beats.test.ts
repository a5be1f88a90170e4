import { beat, noteBehind, readBeats } from '../../db/beats.ts';
import type { Orm } from '../../db/orm.ts';
import { knownBeats, tellBeats } from '../../temporal/known-beats.ts';
import { needs } from '../support/needs.ts';
import { startApi } from '../support/punctual.ts';
import { freshNamespace, temporalClient } from '../support/temporal.ts';

const test = needs('temporal');

const setCount = (orm: Orm, count: number) =>
  orm.em.fork().execute('update installation set beats = ?, beat_at = null', [count]);

test('a database is behind only if it lacks more than one count', async (t) => {
  const { orm } = await startApi(t);
  await setCount(orm, 5);

  // As after a failover that lost the last seconds, or with a worker that compares while another one counts.
  await noteBehind(orm, 6);
  t.is((await readBeats(orm)).behindSince, null);

  await noteBehind(orm, 7);
  t.not((await readBeats(orm)).behindSince, null);
});

test('of workers that count at once one does, and none after the database was replaced', async (t) => {
  const { orm } = await startApi(t);
  await setCount(orm, 5);

  const counts = await Promise.all(Array.from({ length: 5 }, () => beat(orm, 5)));
  t.deepEqual(
    counts.filter((count) => count !== null),
    [6],
  );

  await setCount(orm, 2);
  t.is(await beat(orm, 6), null);
  t.is((await readBeats(orm)).count, 2);
});

test('a count in Temporal never goes down, and is lost with its namespace', async (t) => {
  const { client } = await temporalClient(t, await freshNamespace());
  t.is(await knownBeats(client, 'ours'), null);
  await tellBeats(client, 'ours', 7);
  t.is(await knownBeats(client, 'ours'), 7);

  await tellBeats(client, 'ours', 6);
  t.is(await knownBeats(client, 'ours'), 7);

  t.is(await knownBeats(client, 'another database'), null);
});
