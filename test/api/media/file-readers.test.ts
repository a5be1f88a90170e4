import { newClient } from '../../support/client.ts';
import { ownPool } from '../../support/kit.ts';
import { startLibrary } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';

const test = needs('postgres');

test('many requests for unknown links leave database connections for other clients', async (t) => {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  const blocked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holding = ownPool(t, punctual.databaseUrl)
    .em.fork()
    .transactional(async (em) => {
      await em.execute('lock table media_files in access exclusive mode');
      held.resolve();
      await blocked.promise;
    });
  await held.promise;
  // More than the API has database connections.
  const crowd = Array.from({ length: 40 }, (_, index) =>
    fetch(`${punctual.url}/files/${String(index).padStart(32, '0')}/x.png`),
  );

  t.is((await client.get('/me')).status, 200);
  t.is((await client.get('/posts')).status, 200);
  blocked.resolve();
  await holding;
  t.deepEqual(new Set((await Promise.all(crowd)).map(({ status }) => status)), new Set([404]));
});
