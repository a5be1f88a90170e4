import { anything, having, text } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import { countIn, readingOf, readOneByOne } from '../metrics.ts';
import type { MetricsReader, PostReading } from '../network.ts';
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
  async read(connection, remoteIds) {
    return readOneByOne(remoteIds, async (id) => {
      const path = `/api/v1/statuses/${encodeURIComponent(id)}`;
      const response = await get(connection, path, 'prepare');
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
