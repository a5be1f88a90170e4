import { setTimeout as sleep } from 'node:timers/promises';
import { startPart, type ProcessPart, type Stage } from '../../../scripts/parts/part.ts';

/** In milliseconds, as supervisors wait. */
const restartAfterMs = 300;

export type Supervised = {
  readonly name: string;
  /** How often it was restarted. */
  readonly restarts: () => number;
  /** When it ended, each time, in milliseconds since 1970. */
  readonly ends: readonly number[];
  /** Sends SIGKILL. */
  kill(): void;
  /** Stops it until `resume`. Resolves when it is gone. */
  hold(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  resume(): void;
  /** Stops restarting it. */
  release(): void;
};

export type SupervisedPlan = {
  readonly name: string;
  /** A file for Node. */
  readonly script: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
};

/** Runs a process and restarts it whenever it ends, as a supervisor does. The stage's guard ends it. */
export async function supervise(plan: SupervisedPlan, stage: Stage): Promise<Supervised> {
  const { name, script, env, logFile } = plan;
  const command = [process.execPath, script];
  const start = () => startPart({ name, command, env, logFile, rank: 0, graceMs: 50_000 }, stage);
  let part: ProcessPart | undefined = await start();
  let restarts = 0;
  const ends: number[] = [];
  let released = false;
  let held: PromiseWithResolvers<void> | undefined;
  const keep = async (): Promise<void> => {
    for (;;) {
      await part?.ended;
      ends.push(Date.now());
      part = undefined;
      await sleep(restartAfterMs);
      await held?.promise;
      if (released || stage.signal.aborted) {
        return;
      }

      restarts += 1;
      part = await start();
    }
  };
  void keep().catch((error: unknown) => stage.say(`could not start ${name}: ${String(error)}`));
  const end = (signal: NodeJS.Signals): void => {
    // The pid of a process that ended may be reused.
    if (part && part.pid > 0) {
      process.kill(part.pid, signal);
    }
  };
  return {
    name,
    restarts: () => restarts,
    ends,
    kill: () => end('SIGKILL'),
    hold: async (signal) => {
      held ??= Promise.withResolvers();
      // A process that is just starting is ended after its start.
      for (let isStarting = true; isStarting; isStarting = part !== undefined) {
        end(signal);
        await part?.ended;
        await sleep(50);
      }
    },
    resume: () => {
      held?.resolve();
      held = undefined;
    },
    release: () => {
      released = true;
    },
  };
}
