import type { NativeConnection, WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { Connection, type Client } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { connectTemporal, type Temporal } from '../../temporal/connect.ts';
import { createLogger } from '../../runtime/logger.ts';
import { env } from './env.ts';

/** The log of the tests' processes: silent unless `LOG_LEVEL` is set. */
export const testLog = createLogger('test', process.env['LOG_LEVEL'] ?? 'silent');

let bundle: Promise<WorkflowBundleWithSourceMap> | undefined;

/** The product's workflow code, bundled once for all test files (`storeBundle`). */
export function sharedBundle(): Promise<WorkflowBundleWithSourceMap> {
  bundle ??= import('../../worker/bundle-workflows.ts').then(({ openBundle }) =>
    openBundle(env('PUNCTUAL_TEST_BUNDLE')),
  );
  return bundle;
}

let installed: Promise<void> | undefined;

/**
 * Sends Temporal's own messages to the test's log. Call it before anything else of the native part. Loaded on demand:
 * most test files have no worker, and loading takes half a second of processor time.
 */
export function installRuntime(): Promise<void> {
  installed ??= (async () => {
    const { Runtime } = await import('@temporalio/worker');
    const { temporalLogger } = await import('../../worker/create-workers.ts');
    Runtime.install({
      logger: temporalLogger(testLog),
      shutdownSignals: [],
      telemetryOptions: { logging: { forward: {}, filter: 'ERROR' } },
    });
  })();
  return installed;
}

export async function nativeConnection(
  t: ExecutionContext,
  address: string,
): Promise<NativeConnection> {
  await installRuntime();

  const { NativeConnection } = await import('@temporalio/worker');
  const connection = await NativeConnection.connect({ address });
  t.teardown(() => connection.close());
  return connection;
}

/** The SDK's default of 10 s is too short on a machine under load. In milliseconds. */
const connectMs = 100_000;

const sharedAddress = () => process.env['PUNCTUAL_TEST_TEMPORAL_ADDRESS'];

/** Environment for a new namespace on the shared server, where no other workers poll. */
export async function freshNamespace(): Promise<Record<string, string>> {
  const address = sharedAddress();
  const namespace = `test-${crypto.randomUUID()}`;
  if (!address) {
    // This machine has no Temporal. Tests that need it are skipped (`needs('temporal')`); the API starts without it.
    return { TEMPORAL_ADDRESS: '127.0.0.1:9', TEMPORAL_NAMESPACE: namespace };
  }

  const connection = await Connection.connect({ address, connectTimeout: connectMs });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
    });
  } finally {
    await connection.close();
  }

  return { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
}

export type Patience = {
  /**
   * Replaces the product's deadline of 2 s, which a busy machine may miss. By default on the shared server, but not
   * behind a gate, where a test waits for the deadline.
   */
  readonly patientTemporal?: boolean;
};

export function temporalClient(
  t: ExecutionContext,
  settings: Record<string, string>,
  { patientTemporal = settings['TEMPORAL_ADDRESS'] === sharedAddress() }: Patience = {},
): Temporal {
  const temporal = connectTemporal(settings);
  t.teardown(() => temporal.close());
  return patientTemporal ? { ...temporal, client: patient(temporal.client) } : temporal;
}

/** The same client without deadlines that a busy machine would miss. */
const patient = (client: Client): Client =>
  Object.assign(Object.create(client), {
    withDeadline: <T>(_at: number | Date, call: () => Promise<T>): Promise<T> =>
      client.withDeadline(Date.now() + 100_000, call),
  });
