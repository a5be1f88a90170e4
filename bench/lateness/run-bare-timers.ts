import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Runtime,
  Worker,
} from '@temporalio/worker';
import { createLogger } from '../../runtime/logger.ts';
import { temporalLogger } from '../../worker/create-workers.ts';
import type { System } from '../runner/processes.ts';
import type { bareTimer } from './bare-timer.ts';

const taskQueue = 'bare-timers';

/** Longest wait after the last timer's due time, in milliseconds. */
const patienceMs = 60_000;

/**
 * Runs workflows with only a timer on the same server, in this process.
 *
 * @param apartMs Interval between two starts.
 * @returns the delay of each, in milliseconds.
 */
export async function runBareTimers(
  { temporal, env }: System,
  dueAtMs: readonly number[],
  apartMs: number,
): Promise<number[]> {
  Runtime.install({ logger: temporalLogger(createLogger('bare', 'warn')), shutdownSignals: [] });
  const stamps = new Map<string, number>();
  const stamp = async (name: string): Promise<void> => {
    stamps.set(name, stamps.get(name) ?? Date.now());
  };
  const connection = await NativeConnection.connect({ address: env['TEMPORAL_ADDRESS'] ?? '' });
  const worker = await Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue,
    activities: { stamp },
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('bare-timer.ts', import.meta.url)),
      logger: new DefaultLogger('ERROR'),
    }),
  });
  const { workflow } = temporal.client;
  await worker.runUntil(async () => {
    for (const [index, at] of dueAtMs.entries()) {
      const workflowId = `bare-${index}`;
      const args: Parameters<typeof bareTimer> = [workflowId, at];
      await Promise.all([
        workflow.start('bareTimer', { taskQueue, workflowId, args }),
        sleep(apartMs),
      ]);
    }

    // Does not wait for results: hundreds of long polls would be load for the measured server.
    const giveUpMs = Math.max(...dueAtMs) + patienceMs;
    while (stamps.size < dueAtMs.length && Date.now() < giveUpMs) {
      await sleep(500);
    }
  });
  await connection.close();
  return dueAtMs.map((at, index) => (stamps.get(`bare-${index}`) ?? Number.NaN) - at);
}
