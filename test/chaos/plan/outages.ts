import type { Random } from '../../support/random-life/random.ts';
import { trapFaults } from './faults.ts';
import type { Outage, Trap } from './post-plan.ts';

/** In milliseconds: how long each is away, and how long everything has to recover until the next outage. */
const outages = [
  { what: 'Temporal away', forMs: 20_000, restMs: 15_000 },
  { what: 'PostgreSQL away', forMs: 10_000, restMs: 10_000 },
] as const;

const firstAtMs = 15_000;

/** One after the other, each as often as `quota` says; every second one of a kind takes the server's life. */
export function planOutages(random: Random, quota: number): Outage[] {
  const all = outages.flatMap((outage) =>
    Array.from({ length: quota }, (_, index) => ({ ...outage, dies: index % 2 === 0 })),
  );
  let atMs = firstAtMs;
  return shuffled(random, all).map(({ what, forMs, restMs, dies }) => {
    const planned = { what, atMs: atMs + random.below(3000), forMs, dies };
    atMs = planned.atMs + forMs + restMs;
    return planned;
  });
}

/** Spread over the run, and early enough that somebody still comes by. */
export function planTraps(random: Random, quota: number, windowMs: number): Trap[] {
  return trapFaults.flatMap((fault, kind) =>
    Array.from({ length: quota }, (_, index) => ({
      id: `trap${kind + 1}-${index + 1}`,
      fault,
      atMs: 4000 + ((index + random.next()) / quota) * (windowMs - 20_000),
    })),
  );
}

export function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const keyed = list.map((item) => ({ item, key: random.next() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}
