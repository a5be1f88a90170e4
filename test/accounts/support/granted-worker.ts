import { runWorker } from '../../../worker/run-worker.ts';
import { env } from '../../support/env.ts';
import { withGrantedNetwork } from './granted-network.ts';

// A worker as operators start it, with the network of a test.

await runWorker((deps) => withGrantedNetwork(deps, env('PUNCTUAL_TEST_TOKEN_URL')));
process.exit(0);
