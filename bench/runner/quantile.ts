/** The value that this share of a sample does not exceed; 0.5 is the median. NaN for an empty sample. */
export function quantile(sample: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(sample).toSorted();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (sample: ArrayLike<number>): number => quantile(sample, 0.5);
