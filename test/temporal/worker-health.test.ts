import type { ExecutionContext } from 'ava';
import { freePort } from '../../scripts/ports.ts';
import { needs } from '../support/needs.ts';
import { fakeNetworks } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startApi } from '../support/punctual.ts';
import { rawCall } from '../support/raw-call.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';
import { spawnWorker, type WorkerProcess } from '../support/worker-process.ts';

const test = needs('temporal');

async function workerBehindGate(t: ExecutionContext) {
  const punctual = await startApi(t, { networks: fakeNetworks });
  const gate = await tcpGate(t, targetOf(punctual.databaseUrl));
  const port = await freePort();
  const start = (databaseUrl: string): WorkerProcess =>
    spawnWorker(t, { ...punctual, databaseUrl }, [], undefined, {
      PUNCTUAL_WORKER_HEALTH_PORT: String(port),
    });
  const behind = throughGate(punctual.databaseUrl, gate);
  const ask = (path: string) => rawCall(`http://127.0.0.1:${port}${path}`);
  return { punctual, gate, start, behind, ask };
}

test('a worker is alive from its start, and ready while it polls and its database responds', async (t) => {
  const { gate, start, behind, ask } = await workerBehindGate(t);
  await gate.close();
  const worker = start(behind);
  t.is((await poll(() => ask('/livez').catch(() => null), Boolean))?.status, 200);
  const before = await ask('/readyz');
  t.is(before.status, 503);
  t.like(before.body, { ready: false, postgresql: 'does not answer' });

  await gate.open();
  await worker.logged('polling');

  const ready = await poll(
    () => ask('/readyz'),
    ({ status }) => status === 200,
  );
  t.deepEqual(ready.body, { ready: true, postgresql: 'ok', polling: 'ok' });
  t.is((await ask('/nothing')).status, 404);

  await gate.close();
  const away = await poll(
    () => ask('/readyz'),
    ({ status }) => status === 503,
  );
  t.like(away.body, { ready: false, polling: 'ok' });
  t.is((await ask('/livez')).status, 200);
});

test('a second worker whose health port is taken works without it and logs that', async (t) => {
  const { punctual, start } = await workerBehindGate(t);
  const first = start(punctual.databaseUrl);
  await first.logged('polling');
  const second = start(punctual.databaseUrl);

  await second.logged('polling');

  t.regex(second.output(), /this worker has no \/livez and \/readyz/v);
});
