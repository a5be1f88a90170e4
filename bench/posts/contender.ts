import { setTimeout as sleep } from 'node:timers/promises';
import type { Temporal } from '../../temporal/connect.ts';
import type { World } from './world.ts';

/** One of those who are measured beside each other. */
export type Contender = {
  readonly name: 'punctual' | 'bare' | 'peer';
  /** The entry point of its worker. */
  readonly main: string;
  readonly workerEnv: (world: World) => Readonly<Record<string, string>>;
  /** How many workflows it has for one post with so many channels. */
  readonly workflowsPerPost: (channels: number) => number;
  /** Starts the workflows of so many posts that are due at one moment. Resolves when Temporal has all of them. */
  readonly schedule: (world: World, temporal: Temporal, plan: SchedulePlan) => Promise<void>;
  /** @throws Error when a post that was due then is not out. */
  readonly mustBeDone: (world: World, plan: SchedulePlan) => Promise<void>;
};

export type SchedulePlan = {
  readonly posts: number;
  readonly channels: number;
  readonly dueAt: Date;
};

/** How many starts are under way at a time. */
const concurrency = 8;

/** How often one is tried, as a machine that is busy with others may not start it in time. */
const tries = 10;

/** Calls `work` for each of them, some at a time. What it does may be repeated. */
export async function forEachOf<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      await insistently(() => work(item));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

/** Calls `work` until it succeeds, a second apart. @throws what it threw last. */
export async function insistently(work: () => Promise<unknown>): Promise<void> {
  for (let left = tries - 1; ; left -= 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (left === 0) {
        throw error;
      }

      await sleep(1000);
    }
  }
}
