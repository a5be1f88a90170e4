import path from 'node:path';
import type { Stage } from '../../../scripts/parts/part.ts';
import { startTemporal } from '../../../scripts/parts/temporal.ts';
import { choosePorts } from '../../../scripts/ports.ts';
import { findTemporal } from '../../../scripts/programs/find-temporal.ts';
import type { TestService } from './test-service.ts';

/**
 * Starts a Temporal dev server for this run only, in memory.
 *
 * @throws Error with the reason when it cannot start.
 */
export async function startTestTemporal(folder: string, stage: Stage): Promise<TestService> {
  const program = await findTemporal({ env: process.env, say: stage.say, signal: stage.signal });
  const variable = 'nothing';
  const ports = await choosePorts({
    grpc: { what: 'Temporal', variable },
    http: { what: "Temporal's HTTP API", variable },
  });
  const plan = {
    program,
    namespace: 'default',
    ports,
    logFile: path.join(folder, 'temporal.log'),
    env: process.env,
    rank: 1,
  };
  await startTemporal(plan, { ...stage, say: () => undefined });
  const address = `127.0.0.1:${ports.grpc}`;
  return { env: { PUNCTUAL_TEST_TEMPORAL_ADDRESS: address }, stop: async () => undefined };
}
