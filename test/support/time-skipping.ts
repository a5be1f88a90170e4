import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ExecutionContext } from 'ava';
import { env } from './env.ts';
import type { FakeNetwork } from './fake-network.ts';
import { startApi, startWorkers, type Punctual } from './punctual.ts';
import { installRuntime } from './temporal.ts';

export type SkippingPunctual = Punctual & {
  readonly environment: TestWorkflowEnvironment;
};

/**
 * A whole Punctual on a Temporal server whose clock jumps over every wait while a workflow's result is awaited
 * through `environment.client`. A server of its own: what one test leaves waiting would hold up the next.
 */
export async function startTimeSkipping(
  t: ExecutionContext,
  network: FakeNetwork,
  allowPorts: readonly number[] = [],
): Promise<SkippingPunctual> {
  installRuntime();
  const executable = { type: 'existing-path' as const, path: env('PUNCTUAL_TEST_SERVER_PATH') };
  const environment = await TestWorkflowEnvironment.createTimeSkipping({ server: { executable } });
  t.teardown(() => environment.teardown());
  const temporalEnv = { TEMPORAL_ADDRESS: environment.address, TEMPORAL_NAMESPACE: 'default' };
  const punctual = await startApi(t, { allowPorts, temporalEnv, networks: { fake: network } });
  await startWorkers(t, punctual);
  return { ...punctual, environment };
}
