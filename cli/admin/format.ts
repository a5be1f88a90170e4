const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** Formats the distance from now: `3 h ago`, `in 12 min`. @param ms Milliseconds from now. */
export const distance = (ms: number): string =>
  ms > 0 ? `in ${roughly(ms)}` : `${roughly(ms)} ago`;

/** Formats a duration: `3 h`, `12 min`. @param ms Milliseconds, also negative. */
function roughly(ms: number): string {
  const length = Math.abs(ms);
  const [unit, size] = units.find(([, least]) => length >= least) ?? ['s', 1000];
  return `${Math.floor(length / size)} ${unit}`;
}

export const formatInstant = (at: Date | null): string | null => at?.toISOString() ?? null;
