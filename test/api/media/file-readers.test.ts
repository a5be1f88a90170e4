import { newClient } from '../../support/client.ts';
import { holdLock } from '../../support/hold-lock.ts';
import { ownPool } from '../../support/kit.ts';
import { startLibrary } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';

const test = needs('postgres');

test('hundreds of requests for links leave database connections for other clients, and 500 are under way at most', async (t) => {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  const orm = ownPool(t, punctual.databaseUrl);
  const lock = await holdLock(t, orm, 'lock table media_files in access exclusive mode');
  const crowd = Array.from({ length: 501 }, (_, index) =>
    fetch(`${punctual.url}/files/${String(index).padStart(32, '0')}/x.png`),
  );
  t.is((await Promise.race(crowd)).status, 429);
  t.is((await client.get('/me')).status, 200);
  t.is((await client.get('/posts')).status, 200);
  lock.release();
  t.is((await Promise.all(crowd)).filter(({ status }) => status === 404).length, 500);
});
