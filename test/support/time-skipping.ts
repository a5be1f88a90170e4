import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ExecutionContext } from 'ava';
import { freePort } from '../../scripts/ports.ts';
import { searchAttributeKeys } from '../../workflows/search-attributes.ts';
import { env } from './env.ts';
import type { FakeNetwork } from './networks.ts';
import { poll } from './poll.ts';
import { startApi, startWorkers, type ApiOptions, type Punctual } from './punctual.ts';
import { installRuntime } from './temporal.ts';

export type SkippingPunctual = Punctual & { readonly environment: TestWorkflowEnvironment };

/**
 * Starts a whole Punctual on a Temporal server whose clock skips every wait while a workflow's result is awaited
 * through `environment.client`. Each test has its own server: a workflow of another test that still waits would hold up
 * its clock.
 */
export async function startTimeSkipping(
  t: ExecutionContext,
  network: FakeNetwork,
  options: Pick<ApiOptions, 'now'> = {},
): Promise<SkippingPunctual> {
  const environment = await startTimeSkippingServer(t);
  const temporalEnv = { TEMPORAL_ADDRESS: environment.address, TEMPORAL_NAMESPACE: 'default' };
  const punctual = await startApi(t, { ...options, temporalEnv, networks: { fake: network } });
  await addSearchAttributes(environment);
  await startWorkers(t, punctual);
  return { ...punctual, environment };
}

async function startTimeSkippingServer(t: ExecutionContext): Promise<TestWorkflowEnvironment> {
  await installRuntime();
  const address = await startServer(t);
  const environment = await poll(
    () => connectTo(address).catch(() => null), // It may not listen yet.
    (connected) => connected !== null,
  );
  if (!environment) {
    throw new Error('No Temporal server that skips time.');
  }

  t.teardown(() => environment.teardown());
  return environment;
}

/**
 * Starts the program. The SDK would also start it, but with a limit of 5 s, which a JVM on a busy machine exceeds.
 *
 * @returns its address, where it may not listen yet.
 */
async function startServer(t: ExecutionContext): Promise<string> {
  const port = await freePort();
  const server = spawn(env('PUNCTUAL_TEST_SERVER_PATH'), [String(port)], { stdio: 'ignore' });
  const ended = once(server, 'exit');
  t.teardown(async () => {
    server.kill('SIGKILL');
    await ended;
  });
  return `127.0.0.1:${port}`;
}

/** `TestWorkflowEnvironment.createTimeSkipping` calls this after it has started its server. */
const { create } = TestWorkflowEnvironment as unknown as {
  create(options: object): Promise<TestWorkflowEnvironment>;
};

const connectTo = (address: string): Promise<TestWorkflowEnvironment> =>
  create.call(TestWorkflowEnvironment, {
    server: { type: 'existing' },
    supportsTimeSkipping: true,
    namespace: 'default',
    address,
  });

/**
 * Adds our search attributes without listing the existing ones, which this server cannot do. They must exist before the
 * first start: the server remembers a start that it refused as a successful one.
 */
async function addSearchAttributes({ connection }: TestWorkflowEnvironment): Promise<void> {
  const types = searchAttributeKeys.map(({ name, type }) => [
    name,
    encodeSearchAttributeIndexedValueType(type),
  ]);
  await connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(types),
  });
}
