import type { Temporal } from '../../temporal/connect.ts';
import type { Delivery } from './seed.ts';
import type { World } from './world.ts';

/** One of those who are measured beside each other. */
export type Contender = {
  readonly name: 'punctual' | 'bare';
  /** The entry point of its worker. */
  readonly main: string;
  /** @param arrivalsFile Where a worker may write down what came when it ends. */
  readonly workerEnv: (world: World, arrivalsFile: string) => Readonly<Record<string, string>>;
  /** Makes so many deliveries of which Temporal has not heard. */
  readonly prepare: (world: World, count: number) => Promise<readonly Delivery[]>;
  readonly tell: (world: World, temporal: Temporal, delivery: Delivery) => Promise<unknown>;
  /** What came, and when, once the worker has ended. */
  readonly arrivals: (world: World, arrivalsFile: string) => Promise<Arrivals>;
  /** @throws Error when one of them is not down as delivered by its first attempt. */
  readonly mustBeDone: (world: World, deliveries: readonly Delivery[]) => Promise<void>;
};

/** Marks of deliveries, and milliseconds since 1970. One that came twice is there twice. */
export type Arrivals = readonly (readonly [mark: string, atMs: number])[];
