import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  bundleWorkflowCode,
  type WorkerDeploymentOptions,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';

const ours = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));

/**
 * The workflow code as Temporal's workers run it, in about a second.
 *
 * Its modules are evaluated once, and not for each post that wakes up: so none of them may keep anything that changes
 * (`test/workflows/replay.test.ts`). It spares a tenth of the worker's CPU time where posts have left its cache.
 */
export const bundleWorkflows = (workflowsPath = ours): Promise<WorkflowBundleWithSourceMap> =>
  bundleWorkflowCode({ workflowsPath, preloadModules: [workflowsPath], logger: quietBundler });

/** @param file What `write-bundle.ts` of the same version wrote; null makes a bundle now. */
export const openBundle = async (file: string | null): Promise<WorkflowBundleWithSourceMap> =>
  file === null ? bundleWorkflows() : { code: await readFile(file, 'utf8'), sourceMap: '' }; // The map is in the code.

/** The bundler reports each step; only what is wrong is worth a line. */
const quietBundler = {
  log: ignore,
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: (message: string) => process.stderr.write(`${message}\n`),
  error: (message: string) => process.stderr.write(`${message}\n`),
};
function ignore(): void {}

/**
 * Which workflow code a worker runs: Temporal stores it with each step, so that people see it, and can reset what
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
