import { fileURLToPath } from 'node:url';
import { NativeConnection, Runtime } from '@temporalio/worker';
import { openNetworks } from '../../networks/registry.ts';
import { createLogger } from '../../runtime/logger.ts';
import { untilStopSignal } from '../../runtime/process.ts';
import { temporalOptions } from '../../temporal/settings.ts';
import { bundleWorkflows } from '../../worker/bundle-workflows.ts';
import { pollQueues, temporalLogger } from '../../worker/create-workers.ts';

/**
 * Runs the product's workers, with the product's options, for workflows and activities of the bench, until the process
 * is stopped. Uses no database and no networks.
 */
export async function runEmptyWorker(workflows: URL, activities: object): Promise<void> {
  const log = createLogger('worker', 'info');
  const stop = untilStopSignal();
  Runtime.install({ logger: temporalLogger(log), shutdownSignals: [] });
  const { connectionOptions, namespace } = temporalOptions();
  const connection = await NativeConnection.connect(connectionOptions);
  const bundle = await bundleWorkflows(fileURLToPath(workflows));
  const place = { connection, namespace, bundle, shutdownGraceMs: 40_000, log };
  const workers = await pollQueues(place, activities, Object.keys(await openNetworks({}).load()));
  const running = Promise.all(workers.map((worker) => worker.run()));
  log.info('polling');
  await stop;
  for (const worker of workers) {
    worker.shutdown();
  }

  await running;
  await connection.close();
}
