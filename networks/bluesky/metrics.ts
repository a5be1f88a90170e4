import { answerReader } from '../answer.ts';
import { countIn, readingOf, withMissing } from '../metrics.ts';
import type { Connection, MetricsReader, PostReading } from '../network.ts';
import { errorName, xrpcQuery } from './client.ts';
import { queryWithSession } from './session.ts';
import { collection } from './thread.ts';

/** Reads the response of `app.bsky.feed.getPosts`. */
const readPosts = answerReader<{ readonly posts: readonly { readonly uri: string }[] }>({
  type: 'object',
  required: ['posts'],
  properties: {
    posts: {
      type: 'array',
      maxItems: 1000,
      items: { type: 'object', required: ['uri'], properties: { uri: { type: 'string' } } },
    },
  },
});

/**
 * Reads the response of `app.bsky.actor.getProfile`. `did` is required, so that an error with status 200 is not
 * accepted.
 */
const readProfile = answerReader<{ readonly followersCount?: unknown }>({
  type: 'object',
  required: ['did'],
  properties: { did: { type: 'string' } },
});

/** The account's server forwards the requests to its AppView, which counts. */
export const metrics: MetricsReader = {
  batchSize: 25,
  readsPerMonth: null,
  read,
  async followers(connection) {
    const parameters = { actor: connection.remoteId };
    const profile = await queryWithSession(
      connection,
      'app.bsky.actor.getProfile',
      parameters,
      readProfile,
    );
    return countIn(profile.followersCount) ?? null;
  },
};

async function read(
  connection: Connection,
  remoteIds: readonly string[],
): Promise<ReadonlyMap<string, PostReading>> {
  const parameters = { uris: remoteIds };
  const { posts } = await queryWithSession(
    connection,
    'app.bsky.feed.getPosts',
    parameters,
    readPosts,
  );
  const viewed = posts.map((post) => [post.uri, readingOf(post, fields)] as const);
  return withMissing(remoteIds, viewed, (uri) => absence(connection, uri));
}

const fields = {
  likes: 'likeCount',
  comments: 'replyCount',
  shares: ['repostCount', 'quoteCount'],
  saves: 'bookmarkCount',
};

/**
 * Reports a post as gone when the account's own server no longer has the record. An AppView may lag behind or hide a
 * post, so its silence proves nothing.
 */
async function absence(connection: Connection, uri: string): Promise<PostReading | null> {
  const rkey = uri.split('/').at(-1) ?? '';
  const method = 'com.atproto.repo.getRecord';
  const parameters = { repo: connection.remoteId, collection, rkey };
  const response = await xrpcQuery(connection, method, parameters, 'prepare');
  const isGone = response.status === 400 && errorName(response) === 'RecordNotFound';
  return isGone ? { kind: 'gone' } : null;
}
