/** What a network may tell of a post, in the order in which the API lists it. */
export const metricNames = ['impressions', 'likes', 'comments', 'shares', 'saves'] as const;

type MetricName = (typeof metricNames)[number];

/** Whole numbers from 0. What a network does not tell is left out, and never 0. */
export type Metrics = Readonly<Partial<Record<MetricName, number>>>;

/**
 * What a read says of a post.
 *
 * `gone`: the network says that there is no such post any more. Never concluded from a failure, nor from a network that is silent about it.
 * `unasked`: there was no time to ask for it, or the network wanted to be left alone before its turn came.
 */
export type PostReading =
  | { readonly kind: 'read'; readonly metrics: Metrics }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unasked' };

/** A server that claims more of anything than this is not believed. */
const mostOfAnything = 1e12;

/** A count as a network tells it, or undefined when it tells none: it is absent, hidden, or no whole number from 0. */
export const countIn = (told: unknown): number | undefined =>
  typeof told === 'number' && Number.isInteger(told) && told >= 0 && told <= mostOfAnything
    ? told
    : undefined;

/** A count with what is counted beside it, such as reposts and quotes; undefined without the first one. */
export const sumOf = (told: unknown, ...beside: readonly unknown[]): number | undefined => {
  const count = countIn(told);
  return count === undefined
    ? undefined
    : beside.reduce<number>((sum, more) => sum + (countIn(more) ?? 0), count);
};

/** The reading of a post that exists. @param told Anything: what is no count is left out. */
export const readingOf = (told: Readonly<Partial<Record<MetricName, unknown>>>): PostReading => ({
  kind: 'read',
  metrics: Object.fromEntries(
    metricNames.flatMap((name) => {
      const count = countIn(told[name]);
      return count === undefined ? [] : [[name, count]];
    }),
  ),
});
