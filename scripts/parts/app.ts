import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { partFailed, startPart, type Part, type Stage } from './part.ts';

export type AppPlan = {
  readonly name: string;
  /** The entry point, from the root of the project. */
  readonly main: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly rank: number;
  /** Milliseconds it may take to finish what it is at. */
  readonly graceMs: number;
};

/** pino's number for errors; what is worse has higher ones. */
const errorLevel = 50;

/** When an app that ended is started again. Times are in milliseconds. */
export type Restarts = {
  /** Whether it did its work already when it ended: the end of its first process is an accident then. */
  readonly hasStarted: () => boolean;
  /** One that was started again and ran for so long is well: what ends it is another accident. */
  readonly steadyMs?: number;
  /** How long to wait before each start in a row that did not last. After the last of them it is given up. */
  readonly waitsMs?: readonly number[];
};

const usual = { steadyMs: 10_000, waitsMs: [500, 1000, 2000, 5000, 10_000] };

/**
 * Starts one of our own processes, and starts it again when it ends by accident: a crash of one of them must not take
 * the database and Temporal with it. One that does not even start, or ends time after time, ends everything.
 *
 * @returns the first of its processes.
 */
export async function startApp(
  { main, ...plan }: AppPlan,
  root: string,
  stage: Stage,
  restarts: Restarts = { hasStarted: () => false },
): Promise<Part> {
  const command = [process.execPath, path.join(root, main)];
  const start = (): Promise<Part> => startPart({ ...plan, command, cwd: root, complaint }, stage);
  const first = await start();
  void keepRunning(first, start, stage, { ...usual, ...restarts });
  return first;
}

async function keepRunning(
  first: Part,
  start: () => Promise<Part>,
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
      return; // Everything ends.
    }
  }
}

/** Our processes log JSON. What is not JSON was written by Node, as it ended with an error. */
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
