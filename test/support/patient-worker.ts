import { runWorker } from '../../worker/run-worker.ts';
import { patient } from './patient-egress.ts';

// A worker as operators start it, but for this: its requests never give up.

await runWorker((deps) => ({
  ...deps,
  egress: patient(deps.egress),
  webhooks: patient(deps.webhooks),
}));
process.exit(0);
