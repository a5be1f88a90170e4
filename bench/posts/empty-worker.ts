import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, NativeConnection, Runtime } from '@temporalio/worker';
import { networks } from '../../networks/index.ts';
import { createLogger } from '../../runtime/logger.ts';
import { untilStopped } from '../../runtime/until-stopped.ts';
import { temporalOptions } from '../../temporal/connect.ts';
import { pollQueues } from '../../worker/create-workers.ts';
import { temporalLogger } from '../../worker/temporal-logger.ts';
import { emptyActivities } from './empty-activities.ts';

// A worker process for the workflows of `shapes.ts`: the product's workers, with the product's options, and activities
// that do nothing. No database, no networks.

const log = createLogger('worker', 'info');
const stop = untilStopped();
Runtime.install({ logger: temporalLogger(log), shutdownSignals: [] });
const { connectionOptions, namespace } = temporalOptions();
const connection = await NativeConnection.connect(connectionOptions);
const bundle = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('shapes.ts', import.meta.url)),
});
const place = { connection, namespace, bundle, shutdownGraceMs: 40_000 };
const workers = await pollQueues(place, emptyActivities, Object.keys(networks));
const running = Promise.all(workers.map((worker) => worker.run()));
log.info('polling');
await stop;
for (const worker of workers) {
  worker.shutdown();
}

await running;
await connection.close();
process.exit(0);
