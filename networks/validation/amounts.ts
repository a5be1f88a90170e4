const megabyte = 1_000_000;

/** A whole number with thousands separators: `36,152,320`. */
export const numberOf = (value: number): string => value.toLocaleString('en-US');

/** `1 image`, `2 images`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${numberOf(count)} ${count === 1 ? one : many}`;

/** `a`, `a and b`, `a, b and c`. */
export const list = (items: readonly string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;

/**
 * A limit and a size in words: in MB (a million bytes) with one decimal, or in exact bytes where the MB would look
 * equal.
 */
export function sizesOf(limitBytes: number, actualBytes: number): readonly [string, string] {
  const [limit, actual] = [inMegabytes(limitBytes), inMegabytes(actualBytes)];
  return limit === actual || Math.min(limitBytes, actualBytes) < megabyte / 10
    ? [`${numberOf(limitBytes)} bytes`, `${numberOf(actualBytes)} bytes`]
    : [limit, actual];
}

const inMegabytes = (bytes: number): string => {
  const megabytes = (bytes / megabyte).toLocaleString('en-US', {
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  });
  return `${megabytes} MB`;
};

/** A duration in words, exact to the millisecond: `2 min 20 s`, `12 h`, `0.5 s`. */
export function durationOf(durationMs: number): string {
  const wholeMs = Math.round(durationMs);
  const parts = [
    [Math.floor(wholeMs / 3_600_000), 'h'],
    [Math.floor(wholeMs / 60_000) % 60, 'min'],
    [(wholeMs % 60_000) / 1000, 's'],
  ] as const;
  const durations = parts.flatMap(([value, unit]) => (value > 0 ? [`${value} ${unit}`] : []));
  return durations.join(' ') || '0 s';
}
