import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  bundleWorkflowCode,
  type WorkerDeploymentOptions,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';

const ownWorkflowsPath = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));

/**
 * Bundles the workflow code, in about 1 s. Modules are evaluated once instead of for each workflow, which saves a tenth
 * of the CPU time, so none may hold mutable state (`test/workflows/replay.test.ts`).
 */
export const bundleWorkflows = (
  workflowsPath = ownWorkflowsPath,
): Promise<WorkflowBundleWithSourceMap> =>
  bundleWorkflowCode({ workflowsPath, preloadModules: [workflowsPath], logger: quietBundler });

/** @param file Written by `write-bundle.ts` of the same version; null bundles now. */
export const openBundle = async (file: string | null): Promise<WorkflowBundleWithSourceMap> =>
  file === null ? bundleWorkflows() : { code: await readFile(file, 'utf8'), sourceMap: '' }; // The map is in the code.

/** The bundler logs each step; keep warnings and errors only. */
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
 * Identifies the workflow code, so that operators can reset workflows of a bad version (`temporal workflow reset --type
 * BuildId`). The SDK's default name has 95 characters, and each sleeping post would store it twice.
 */
export const deploymentOf = ({ code }: WorkflowBundleWithSourceMap): WorkerDeploymentOptions => ({
  useWorkerVersioning: false,
  version: {
    deploymentName: 'punctual',
    buildId: createHash('sha256').update(code).digest('hex').slice(0, 12),
  },
});
