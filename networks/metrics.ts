/** What a network may tell of a post, in the order in which the API lists it. */
export const metricNames = ['impressions', 'likes', 'comments', 'shares', 'saves'] as const;

/** Whole numbers from 0. What a network does not tell is left out, and never 0. */
export type Metrics = Readonly<Partial<Record<(typeof metricNames)[number], number>>>;

/**
 * What a read says of a post.
 *
 * `gone`: the network says that there is no such post any more. Never concluded from a failure, nor from a network that is silent about it.
 */
export type PostReading =
  | { readonly kind: 'read'; readonly metrics: Metrics }
  | { readonly kind: 'gone' };
