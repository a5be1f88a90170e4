import { anything, having, text } from '../../domain/json-schema.ts';
import type { Egress, EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, retryAtMs } from '../answer.ts';
import { countIn, readingOf, readOneByOne } from '../metrics.ts';
import { NetworkError, type Connection, type MetricsReader, type PostReading } from '../network.ts';
import { get, getAs, type MastodonAnswer } from './client.ts';

const readCounted = answerReader(having({ id: text }));

/** Reads an account. `id` is required, so that an error with status 200 is not accepted. */
const readFollowed = answerReader(having({ id: text }, { followers_count: anything }));

/**
 * Statuses are read one by one. A batch takes seconds, and a small part of the 300 calls that a server allows in 5
 * minutes.
 */
export const metrics: MetricsReader = {
  batchSize: 25,
  readsPerMonth: null,
  /** Reads until only the share of the limit that posts may need is left, and returns the readings so far. */
  async read(connection, remoteIds) {
    return readOneByOne(remoteIds, async (id) => {
      assertMayRead(connection);
      const path = `/api/v1/statuses/${encodeURIComponent(id)}`;
      const response = await get(connection, path, 'prepare');
      noteLimit(connection, response);
      return readingIn(id, response);
    });
  },
  async followers(connection) {
    const path = '/api/v1/accounts/verify_credentials';
    const { followers_count: count } = await getAs(connection, path, 'prepare', readFollowed);
    return countIn(count) ?? null;
  },
};

function readingIn(id: string, answer: MastodonAnswer): PostReading {
  if (answer.isGone()) {
    return { kind: 'gone' }; // Only in the API's own format: a 404 from a proxy says nothing about the status.
  }

  const status = answer.as(readCounted);
  if (status.id !== id) {
    throw answer.unreadable();
  }
  return readingOf(status, fields);
}

/** Quotes are counted since Mastodon 4.5. */
const fields = {
  likes: 'favourites_count',
  comments: 'replies_count',
  shares: ['reblogs_count', 'quotes_count'],
};

/** When reads of an account may continue, in milliseconds since 1970. Kept per process, by its egress. */
const pauses = new WeakMap<Egress, Map<string, number>>();

const accountKey = ({ baseUrl, remoteId }: Connection): string => `${baseUrl} ${remoteId}`;

function assertMayRead(connection: Connection): void {
  const waiting = pauses.get(connection.http);
  const untilMs = waiting?.get(accountKey(connection)) ?? 0;
  if (untilMs > Date.now()) {
    const message =
      'The remaining requests of the Mastodon server are reserved for posts; metrics are read later.';
    throw new NetworkError('rate_limited', message, { accepted: 'no', retryAtMs: untilMs });
  }

  waiting?.delete(accountKey(connection));
}

/** The share of a server's limit that is reserved for posts: a quarter. */
const keptShare = 1 / 4;
const usualWindowMs = 5 * 60_000;

/** Source: https://docs.joinmastodon.org/api/rate-limits/ */
function noteLimit(connection: Connection, response: EgressResponse): void {
  const { headers } = response;
  const remaining = countIn(Number(headers['x-ratelimit-remaining'] ?? Number.NaN));
  const limit = countIn(Number(headers['x-ratelimit-limit'] ?? Number.NaN)) ?? 0;
  if (remaining === undefined || remaining > limit * keptShare) {
    return;
  }

  const nowMs = Date.now();
  const resetMs = retryAtMs({ ...response, status: 429 }, nowMs) ?? nowMs + usualWindowMs;
  const waiting = pauses.get(connection.http) ?? new Map<string, number>();
  pauses.set(connection.http, waiting);
  waiting.set(accountKey(connection), resetMs);
}
