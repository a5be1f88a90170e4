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
import { temporalLogger } from '../../worker/temporal-logger.ts';
import type { Whole } from '../runner/processes.ts';
import type { bareTimer } from './bare-timer.ts';

const taskQueue = 'bare-timers';

/** How long after the last timer's time it is still waited for, in milliseconds. */
const patienceMs = 60_000;

/**
 * Runs workflows of nothing but a timer on the same server, in this process.
 *
 * @param apartMs Between one start and the next.
 * @returns how late each was, in milliseconds.
 */
export async function runBareTimers(
  { temporal, env }: Whole,
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

    // Not by their results: hundreds of long polls are work for the server that is measured.
    const giveUpMs = Math.max(...dueAtMs) + patienceMs;
    while (stamps.size < dueAtMs.length && Date.now() < giveUpMs) {
      await sleep(500);
    }
  });
  await connection.close();
  return dueAtMs.map((at, index) => (stamps.get(`bare-${index}`) ?? Number.NaN) - at);
}
