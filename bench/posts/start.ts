import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { startApp } from '../../scripts/parts/app.ts';
import { untilReady, type Part } from '../../scripts/parts/part.ts';
import { startTemporal, withoutTemporal } from '../../scripts/parts/temporal.ts';
import { freePort } from '../../scripts/ports.ts';
import type { Contender } from './contender.ts';
import type { World } from './world.ts';

/** A Temporal dev server with an empty state of its own, in a file. */
export async function startServer({ folder, temporal: program, stage }: World) {
  const name = randomUUID();
  const ports = { grpc: await freePort(), http: await freePort() };
  const part = await startTemporal(
    {
      program,
      namespace: 'default',
      ports,
      stateFile: path.join(folder, `${name}.db`),
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
  world: World,
  contender: Contender,
  env: NodeJS.ProcessEnv,
): Promise<Part> {
  const { folder, stage, root, options } = world;
  const profile =
    options.profile === undefined ? '' : `--cpu-prof --cpu-prof-dir=${options.profile}`;
  const part = await startApp(
    {
      name: contender.name,
      main: contender.main,
      env: { ...env, ...contender.workerEnv(world), LOG_LEVEL: 'info', NODE_OPTIONS: profile },
      logFile: path.join(folder, `${contender.name}-${randomUUID()}.log`),
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
