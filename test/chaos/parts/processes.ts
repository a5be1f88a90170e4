import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { respondsAt, type Stage } from '../../../scripts/parts/part.ts';
import { withoutTemporal } from '../../../scripts/parts/temporal.ts';
import { freePort } from '../../../scripts/ports.ts';
import { bundleWorkflows } from '../../../worker/bundle-workflows.ts';
import { poll } from '../../support/poll.ts';
import { supervise, type Supervised } from './supervise.ts';
import { opened } from '../../support/opened-ports.ts';

export type ProductSettings = {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly temporalEnv: Readonly<Record<string, string>>;
  readonly secretKey: string;
  /** Ports on 127.0.0.1 that the product may connect to. */
  readonly allowPorts: readonly number[];
};

const workerNames = ['worker-1', 'worker-2'];
const readyWithinMs = 300_000;

/** Starts one API and two workers, each under a supervisor, and waits until they are ready. */
export async function startProcesses(
  stage: Stage,
  settings: ProductSettings,
): Promise<{ url: string; started: Supervised[] }> {
  const { folder, databaseUrl, temporalEnv, secretKey, allowPorts } = settings;
  const port = String(await freePort());
  const bundle = path.join(folder, 'workflows.js'); // Bundled once, not at each start of a worker.
  await writeFile(bundle, (await bundleWorkflows()).code);
  const env = {
    ...withoutTemporal(process.env),
    ...temporalEnv,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    LOG_LEVEL: 'info',
    PUNCTUAL_MEDIA_DIR: path.join(folder, 'media'),
    PUNCTUAL_WORKFLOW_BUNDLE: bundle,
    ...opened(allowPorts),
    PUNCTUAL_RATE_LIMIT: '1000000',
    PUNCTUAL_RATE_LIMIT_WRITES: '1000000',
    PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY: '0',
    PUNCTUAL_YOUTUBE_UNITS_PER_WORKSPACE_PER_DAY: '0',
    HOST: '127.0.0.1',
    PORT: port,
    CHAOS_FOLDER: folder,
  };
  const start = (name: string, file: string): Promise<Supervised> =>
    supervise(
      {
        name,
        script: fileURLToPath(new URL(file, import.meta.url)),
        env: { ...env, CHAOS_NAME: name },
        logFile: path.join(folder, `${name}.log`),
      },
      stage,
    );
  const started = await Promise.all([
    start('api', 'api.ts'),
    ...workerNames.map((name) => start(name, 'worker.ts')),
  ]);
  const url = `http://127.0.0.1:${port}`;
  await poll(() => respondsAt(`${url}/status`), Boolean, readyWithinMs);
  return { url, started };
}
