import { anyFields, anything, having, listOf, mayHave, text } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import { readingOf } from '../metrics.ts';
import type { MetricsReader, PostReading } from '../network.ts';
import { getAs, idSchema } from './client.ts';

/**
 * How often a post's metrics are read, and how many reads a month allows; 0 disables reads. X charges each read post
 * once per UTC day: these defaults cost $50 a month at the list price of $0.005.
 */
export const defaultReads = { everyHours: 24, perMonth: 10_000 };

export const xMetrics = (readsPerMonth: number): MetricsReader => ({
  batchSize: 100,
  readsPerMonth,
  /**
   * Reads posts by their ids. X charges one read per post in the response.
   *
   * Source: https://docs.x.com/x-api/posts/get-posts-by-ids
   */
  async read(connection, remoteIds) {
    const search = new URLSearchParams({
      ids: remoteIds.join(','),
      'post.fields': 'public_metrics',
    });
    const path = `/2/tweets?${search}`;
    const { data = [], errors = [] } = await getAs(connection, path, 'prepare', readPosts);
    const readings = new Map<string, PostReading>();
    for (const { type = '', resource_id: id, value } of errors) {
      const named = id ?? value;
      // Other errors mean that this account may not see an existing post.
      if (type.endsWith('/resource-not-found') && typeof named === 'string') {
        readings.set(named, { kind: 'gone' });
      }
    }
    for (const { id, public_metrics: metrics } of data) {
      if (metrics !== undefined) {
        readings.set(id, readingOf(metrics, 'repost_count' in metrics ? fields : formerFields));
      }
    }

    return new Map([...readings].filter(([id]) => remoteIds.includes(id)));
  },
});

const readPosts = answerReader(
  mayHave({
    data: listOf(having({ id: idSchema }, { public_metrics: anyFields }), 100),
    errors: listOf(mayHave({ resource_id: text, value: anything, type: text }), 1000),
  }),
);

const fields = {
  impressions: 'impression_count',
  likes: 'like_count',
  comments: 'reply_count',
  shares: ['repost_count', 'quote_count'],
  saves: 'bookmark_count',
};

/** X's responses had this name for years. */
const formerFields = { ...fields, shares: ['retweet_count', 'quote_count'] };
