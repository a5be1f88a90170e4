import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import { ApplicationFailure } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ExecutionContext } from 'ava';
import { freePort } from '../../scripts/ports.ts';
import { searchAttributeKeys } from '../../workflows/search-attributes.ts';
import { env } from './env.ts';
import type { FakeNetwork } from './networks.ts';
import { poll } from './poll.ts';
import { startApi, startWorkers, type ApiOptions, type Punctual } from './punctual.ts';
import { installRuntime } from './temporal.ts';

export type SkippingPunctual = Punctual & {
  readonly environment: TestWorkflowEnvironment;
  /** How long Temporal was asked to wait after each attempt to deliver that failed, in milliseconds and in order. */
  readonly deliveryWaitsMs: readonly number[];
};

/**
 * A whole Punctual on a Temporal server whose clock jumps over every wait while a workflow's result is awaited
 * through `environment.client`. A server of its own: what one test leaves waiting would hold up the next.
 */
export async function startTimeSkipping(
  t: ExecutionContext,
  network: FakeNetwork,
  options: Pick<ApiOptions, 'allowPorts' | 'now'> = {},
): Promise<SkippingPunctual> {
  const environment = await startTimeSkippingServer(t);
  const temporalEnv = { TEMPORAL_ADDRESS: environment.address, TEMPORAL_NAMESPACE: 'default' };
  // Our own clock jumps with the server's. The database's does not, so that the time of each attempt to deliver has come
  // by it when Temporal says so.
  let aheadMs = 0;
  const now = (): Date => new Date(Date.now() + aheadMs);
  const networks = { fake: network };
  const deliveryWaitsMs: number[] = [];
  const punctual = await startApi(t, { now, ...options, temporalEnv, networks });
  await addSearchAttributes(environment);
  await startWorkers(t, punctual, {
    adapt: (activities) => ({
      ...activities,
      attemptDelivery: async (request) => {
        aheadMs = (await environment.currentTimeMs()) - Date.now();
        await punctual.orm.em
          .fork()
          .execute('update deliveries set next_attempt_at = null where id = ?', [
            request.deliveryId,
          ]);
        try {
          return await activities.attemptDelivery(request);
        } catch (error) {
          // That one came too early is no failed attempt: it waits for the rest.
          if (error instanceof ApplicationFailure && error.type !== 'too_early') {
            deliveryWaitsMs.push(Number(error.nextRetryDelay));
          }

          throw error;
        }
      },
    }),
  });
  return { ...punctual, environment, deliveryWaitsMs };
}

/** The server alone. */
export async function startTimeSkippingServer(
  t: ExecutionContext,
): Promise<TestWorkflowEnvironment> {
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
 * Starts the program. The SDK would do so as well, and give it 5 s, within which no JVM is up on a busy machine.
 *
 * @returns its address; it may take a while until it listens there.
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

/** What `TestWorkflowEnvironment.createTimeSkipping` calls once it has started its server. */
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

/** This server cannot list what it knows, and takes a start that it refused for one that it made. */
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
