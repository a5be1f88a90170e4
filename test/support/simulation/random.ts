export type Random = {
  /** From 0, below 1. */
  readonly next: () => number;
  readonly chance: (probability: number) => boolean;
  /** From 0, below `end`. */
  readonly below: (end: number) => number;
  readonly pick: <T>(from: readonly T[]) => T;
};

/** Returns the same numbers for the same seed, so that a failure can be repeated. */
export function seeded(seed: number): Random {
  let state = seed;
  // A linear congruential generator (modulus 2³², multiplier and increment by Knuth): random enough to mix steps.
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return ((state ^ (state >>> 15)) >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]): T => from[below(from.length)] as T,
  };
}
