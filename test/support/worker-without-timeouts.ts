import { runWorker } from '../../worker/run-worker.ts';
import { withoutTimeouts } from './egress-without-timeouts.ts';

// A worker as operators start it, except that its requests never time out.

await runWorker((deps) => ({
  ...deps,
  egress: withoutTimeouts(deps.egress),
  webhooks: withoutTimeouts(deps.webhooks),
}));
process.exit(0);
