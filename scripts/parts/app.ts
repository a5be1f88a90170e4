import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { partFailed, startPart, type ProcessPart, type Stage } from './part.ts';

export type AppPlan = {
  readonly name: string;
  /** The entry point, relative to the project's root. */
  readonly main: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly rank: number;
  /** The longest time to finish its work, in milliseconds. */
  readonly graceMs: number;
};

/** pino's level of errors; worse levels are higher. */
const errorLevel = 50;

/** When to restart an app that ended. Times are in milliseconds. */
export type Restarts = {
  /** Whether it was ready when it ended: then its first process counts as crashed and is restarted. */
  readonly hasStarted: () => boolean;
  /** A restarted process that ran this long counts as stable: its next end starts the delays from the beginning. */
  readonly steadyMs?: number;
  /** Delays before restarts in a row. After the last one, the app is not restarted. */
  readonly waitsMs?: readonly number[];
};

const usual = { steadyMs: 10_000, waitsMs: [500, 1000, 2000, 5000, 10_000] };

/**
 * Starts one of our own processes and restarts it after a crash, which must not stop the database and Temporal. A
 * process that fails to start or crashes repeatedly stops everything.
 *
 * @returns the first process.
 */
export async function startApp(
  { main, ...plan }: AppPlan,
  root: string,
  stage: Stage,
  restarts: Restarts = { hasStarted: () => false },
): Promise<ProcessPart> {
  const command = [process.execPath, path.join(root, main)];
  const start = (): Promise<ProcessPart> =>
    startPart({ ...plan, command, cwd: root, complaint }, stage);
  const first = await start();
  void keepRunning(first, start, stage, { ...usual, ...restarts });
  return first;
}

async function keepRunning(
  first: ProcessPart,
  start: () => Promise<ProcessPart>,
  stage: Stage,
  { hasStarted, steadyMs, waitsMs }: Required<Restarts>,
): Promise<void> {
  let part = first;
  let startedMs = performance.now();
  let waits: number[] = [];
  for (;;) {
    const how = await part.ended;
    const isSteady = part === first ? hasStarted() : performance.now() - startedMs >= steadyMs;
    if (isSteady) {
      waits = [...waitsMs];
    }

    const waitMs = waits.shift();
    if (stage.signal.aborted || waitMs === undefined) {
      stage.onEnd?.(part, how);
      return;
    }

    stage.say(`${partFailed(part, how).message}\n${part.name} is started again.`);
    try {
      await sleep(waitMs, undefined, { signal: stage.signal });
      startedMs = performance.now();
      part = await start();
    } catch {
      return; // Everything is stopping.
    }
  }
}

/** Our processes log JSON. Node writes any other line when a process ends with an error. */
function complaint(line: string): string | undefined {
  const entry = parsed(line);
  if (!entry || Number(entry['level']) < errorLevel) {
    return undefined;
  }

  const error = entry['error'] as { message?: unknown } | undefined;
  return [entry['msg'], error?.message].filter(Boolean).join(': ');
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
