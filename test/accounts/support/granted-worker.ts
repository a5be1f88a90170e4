import { runWorker } from '../../../worker/run-worker.ts';
import { env } from '../../support/env.ts';
import { grantedNetwork, grantedOauth } from './granted-network.ts';

// A worker as operators start it, with the network of a test.

await runWorker((deps) => ({
  ...deps,
  networks: { fake: grantedNetwork },
  oauth: grantedOauth(env('PUNCTUAL_TEST_TOKEN_URL')),
  rules: { ...deps.rules, fake: grantedNetwork.rules },
}));
process.exit(0);
