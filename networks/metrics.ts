/** The metrics of a post, in the order of the API. */
export const metricNames = ['impressions', 'likes', 'comments', 'shares', 'saves'] as const;

type MetricName = (typeof metricNames)[number];

/** Whole numbers from 0. A metric that the network does not report is absent, never 0. */
export type Metrics = Readonly<Partial<Record<MetricName, number>>>;

/**
 * The result of reading a post.
 *
 * `gone`: the network says that the post no longer exists. Never concluded from a failure or from silence.
 * `unasked`: the post was not read, because time ran out or the network limited the requests.
 */
export type PostReading =
  | { readonly kind: 'read'; readonly metrics: Metrics }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unasked' };

/** Larger counts are ignored as errors. */
const mostOfAnything = 1e12;

/** A count from a network; undefined when it is absent, hidden, or not a whole number from 0. */
export const countIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= mostOfAnything
    ? value
    : undefined;

/** A count plus related ones, such as reposts and quotes; undefined without the first. */
export const sumOf = (value: unknown, ...beside: readonly unknown[]): number | undefined => {
  const count = countIn(value);
  return count === undefined
    ? undefined
    : beside.reduce<number>((sum, more) => sum + (countIn(more) ?? 0), count);
};

/** The reading of a post that exists. @param counts Any values; those that are not counts are left out. */
export const readingOf = (counts: Readonly<Partial<Record<MetricName, unknown>>>): PostReading => ({
  kind: 'read',
  metrics: Object.fromEntries(
    metricNames.flatMap((name) => {
      const count = countIn(counts[name]);
      return count === undefined ? [] : [[name, count]];
    }),
  ),
});
