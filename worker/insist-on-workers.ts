import { NativeConnection, type Worker } from '@temporalio/worker';
import { insist } from '../runtime/insist.ts';
import type { Logger } from '../runtime/logger.ts';
import { temporalOptions } from '../temporal/connect.ts';
import { createWorkers, type WorkerSettings } from './create-workers.ts';

export type ConnectedWorkers = {
  readonly connection: NativeConnection;
  readonly workers: readonly Worker[];
};

/**
 * Creates the workers, as soon as Temporal lets it. A queue whose worker could not be created stays taken on its
 * connection for ever, so after a failure the next try has another one; the first stays open, and unused.
 */
export function insistOnWorkers(settings: WorkerSettings, log: Logger): Promise<ConnectedWorkers> {
  const { connectionOptions } = temporalOptions();
  let { connection } = settings;
  let isSpent = false;
  return insist(
    'Temporal',
    async () => {
      if (isSpent) {
        connection = await NativeConnection.connect(connectionOptions);
      }

      isSpent = true;
      return { connection, workers: await createWorkers({ ...settings, connection }) };
    },
    log,
  );
}
