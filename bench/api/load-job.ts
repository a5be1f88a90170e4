/** What the load generator is told, and what it tells. Both as JSON. */
export type LoadJob = {
  /** `http://127.0.0.1:3000` */
  readonly origin: string;
  readonly method: 'GET' | 'POST';
  /** Asked for one after the other, over and over. */
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** A text of its own goes into each request in the place of `{n}`. */
  readonly body?: string;
  /** How many requests are under way at any time, each on a connection that is kept alive. */
  readonly connections: number;
  readonly seconds: number;
  /** The one status that counts as an answer. */
  readonly status: number;
};

export type LoadResult = {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};
