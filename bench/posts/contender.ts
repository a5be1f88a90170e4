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
