import { poll } from '../../support/poll.ts';
import { startApi, startWorkers } from '../../support/punctual.ts';
import { rawCall } from '../../support/raw-call.ts';
import { needs } from '../../support/needs.ts';

const test = needs('temporal');

test('readyz says that no worker polls, and is ready as soon as one does', async (t) => {
  const punctual = await startApi(t);
  const ask = () => rawCall(`${punctual.url}/readyz`);

  // Each part has 2 s for its answer, and this machine may be busy.
  const before = await poll(ask, ({ body }) => body.postgresql === 'ok' && body.temporal === 'ok');
  t.is(before.status, 503);
  const parts = { postgresql: 'ok', temporal: 'ok' };
  t.deepEqual(before.body, { ready: false, ...parts, worker: 'none polls' });

  await startWorkers(t, punctual);
  const { body } = await poll(ask, ({ status }) => status === 200);
  t.deepEqual(body, { ready: true, ...parts, worker: 'ok' });
});

test('an API whose Temporal was never there starts, says so and serves', async (t) => {
  const nowhere = { TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_NAMESPACE: 'default' };
  const { url } = await startApi(t, { temporalEnv: nowhere });
  const begun = performance.now();
  const ready = await rawCall(`${url}/readyz`);

  t.is(ready.status, 503);
  t.deepEqual(ready.body, {
    ready: false,
    postgresql: 'ok',
    temporal: 'does not answer',
    worker: 'unknown',
  });
  t.true(performance.now() - begun < 10_000);
  t.deepEqual((await rawCall(`${url}/healthz`)).body, { ok: true });
});
