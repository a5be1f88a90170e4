import { createHash } from 'node:crypto';
import type { WorkerDeploymentOptions, WorkflowBundleWithSourceMap } from '@temporalio/worker';

/**
 * Which workflow code a worker runs: Temporal writes it down at each step, so that people see it, and can reset what
 * a bad version did (`temporal workflow reset --type BuildId`). The name that Temporal's SDK would choose by itself is
 * 95 characters long, and each sleeping post would keep it twice.
 */
export const deploymentOf = ({ code }: WorkflowBundleWithSourceMap): WorkerDeploymentOptions => ({
  useWorkerVersioning: false,
  version: {
    deploymentName: 'punctual',
    buildId: createHash('sha256').update(code).digest('hex').slice(0, 12),
  },
});
