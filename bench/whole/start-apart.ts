import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { startApp } from '../../scripts/parts/app.ts';
import { untilReady, type Part, type Stage } from '../../scripts/parts/part.ts';
import { startTemporal, withoutTemporal, type TemporalPlan } from '../../scripts/parts/temporal.ts';
import { freePort } from '../../scripts/ports.ts';

/** Where servers and workers are started that nothing was done on before. */
export type Ground = {
  readonly folder: string;
  readonly stage: Stage;
  /** The program whose dev server runs the workflows. */
  readonly temporal: string;
  /** A folder for what Node says of where a worker's time goes. */
  readonly profile?: string | undefined;
};

const root = path.join(import.meta.dirname, '..', '..');

/** A Temporal dev server with an empty state of its own, in a file. */
export async function startServer(
  { folder, temporal: program, stage }: Ground,
  journal?: TemporalPlan['journal'],
) {
  const name = randomUUID();
  const ports = { grpc: await freePort(), http: await freePort() };
  const part = await startTemporal(
    {
      program,
      namespace: 'default',
      ports,
      stateFile: path.join(folder, `${name}.db`),
      ...(journal && { journal }),
      logFile: path.join(folder, `temporal-${name}.log`),
      env: process.env,
      rank: 1,
    },
    { ...stage, say: () => undefined },
  );
  const address = `127.0.0.1:${ports.grpc}`;
  const env = {
    ...withoutTemporal(process.env),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: 'default',
  };
  return { part, env };
}

/** A worker process, as soon as it polls. */
export async function startWorker(
  { folder, stage, profile }: Ground,
  { name, main }: { readonly name: string; readonly main: string },
  env: NodeJS.ProcessEnv,
): Promise<Part> {
  const nodeOptions = profile === undefined ? '' : `--cpu-prof --cpu-prof-dir=${profile}`;
  const part = await startApp(
    {
      name,
      main,
      env: { ...env, LOG_LEVEL: 'info', NODE_OPTIONS: nodeOptions },
      logFile: path.join(folder, `${name}-${randomUUID()}.log`),
      rank: 0,
      graceMs: 60_000,
    },
    root,
    stage,
  );
  const polls = () => Promise.resolve(part.lastWords().includes('"msg":"polling"'));
  await untilReady(part, polls, 60_000, stage.signal);
  return part;
}
