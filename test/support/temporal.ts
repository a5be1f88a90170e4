import { NativeConnection, Runtime } from '@temporalio/worker';
import { Connection } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { connectTemporal, type Temporal } from '../../temporal/connect.ts';
import { createLogger } from '../../runtime/logger.ts';
import { bundleWorkflows } from '../../worker/bundle-workflows.ts';
import { temporalLogger } from '../../worker/temporal-logger.ts';

/** What the tests' processes write: nothing, unless `LOG_LEVEL` says otherwise. */
export const testLog = createLogger('test', process.env['LOG_LEVEL'] ?? 'silent');

let bundle: ReturnType<typeof bundleWorkflows> | undefined;

/** The workflow bundle, made once per test file. */
export function sharedBundle(): ReturnType<typeof bundleWorkflows> {
  bundle ??= bundleWorkflows();
  return bundle;
}

let installed = false;

/** Sends Temporal's own messages to the test's log. Must come before anything else of its native part. */
export function installRuntime(): void {
  if (!installed) {
    installed = true;
    Runtime.install({
      logger: temporalLogger(testLog),
      shutdownSignals: [],
      telemetryOptions: { logging: { forward: {}, filter: 'ERROR' } },
    });
  }
}

export async function nativeConnection(
  t: ExecutionContext,
  address: string,
): Promise<NativeConnection> {
  installRuntime();

  const connection = await NativeConnection.connect({ address });
  t.teardown(() => connection.close());
  return connection;
}

/** Environment for a namespace of the test's own on the shared server, where nobody else's workers poll. */
export async function freshNamespace(): Promise<Record<string, string>> {
  const address = process.env['PUNCTUAL_TEST_TEMPORAL_ADDRESS'];
  const namespace = `test-${crypto.randomUUID()}`;
  if (!address) {
    // This machine has no Temporal. What needs one is skipped (`needs('temporal')`); the API does without.
    return { TEMPORAL_ADDRESS: '127.0.0.1:9', TEMPORAL_NAMESPACE: namespace };
  }

  const connection = await Connection.connect({ address });
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

export function temporalClient(t: ExecutionContext, settings: Record<string, string>): Temporal {
  const temporal = connectTemporal(settings);
  t.teardown(() => temporal.close());
  return temporal;
}
