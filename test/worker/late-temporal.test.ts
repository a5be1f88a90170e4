import { startApi } from '../support/punctual.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { targetOf, tcpGate } from '../support/tcp-gate.ts';
import { spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal');

test('Temporal goes away while workers start: all of them work as soon as it is back', async (t) => {
  const punctual = await startApi(t);
  // Which of a worker's queues could still be taken is up to chance, so three workers try.
  const workers = await Promise.all(
    [1, 2, 3].map(async () => {
      const gate = await tcpGate(t, targetOf(punctual.temporalEnv['TEMPORAL_ADDRESS'] ?? ''));
      const temporalEnv = { ...punctual.temporalEnv, TEMPORAL_ADDRESS: gate.address };
      return { gate, worker: spawnWorker(t, { ...punctual, temporalEnv }, []) };
    }),
  );

  await Promise.all(
    workers.map(async ({ gate, worker }) => {
      // It has connected, and has yet to bundle its workflows before it creates the workers.
      await poll(
        async () => gate.passing(),
        (passing) => passing > 1,
        60_000,
      );
      await gate.close();
      await worker.said('waiting for Temporal');
      await gate.open();
    }),
  );

  await t.notThrowsAsync(Promise.all(workers.map(({ worker }) => worker.said('polling'))));
});
