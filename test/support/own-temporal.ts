import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ExecutionContext } from 'ava';
import { findTemporal } from '../../scripts/programs/find-temporal.ts';
import { searchAttributeKeys } from '../../workflows/search-attributes.ts';
import { installRuntime } from './temporal.ts';

/**
 * A dev server for one test, with our search attributes, for limits that the shared server must not have.
 *
 * @param dynamicConfig Temporal's own settings, such as `limit.historyCount.suggestContinueAsNew=60`.
 * @returns the environment for its clients.
 */
export async function ownTemporal(
  t: ExecutionContext,
  dynamicConfig: readonly string[],
): Promise<Record<string, string>> {
  await installRuntime();
  const { signal } = new AbortController();
  const path = await findTemporal({ env: process.env, say: () => undefined, signal });
  const environment = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path },
      searchAttributes: [...searchAttributeKeys],
      extraArgs: dynamicConfig.flatMap((setting) => ['--dynamic-config-value', setting]),
      log: { format: 'pretty', level: 'error' },
    },
  });
  t.teardown(() => environment.teardown());
  return { TEMPORAL_ADDRESS: environment.address, TEMPORAL_NAMESPACE: 'default' };
}
