import { anything, having, listOf, text } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import { countIn, readingOf, withMissing } from '../metrics.ts';
import type { Connection, MetricsReader, PostReading } from '../network.ts';
import { errorName, xrpcQuery } from './client.ts';
import { queryWithSession } from './session.ts';
import { collection } from './thread.ts';

const readPosts = answerReader(having({ posts: listOf(having({ uri: text }), 1000) }));

/** `did` is required, so that an error with status 200 is not accepted. */
const readProfile = answerReader(having({ did: text }, { followersCount: anything }));

/** The account's server forwards the requests to its AppView, which counts. */
export const metrics: MetricsReader = {
  batchSize: 25,
  readsPerMonth: null,
  async read(connection, remoteIds) {
    const parameters = { uris: remoteIds };
    const method = 'app.bsky.feed.getPosts';
    const { posts } = await queryWithSession(connection, method, parameters, readPosts);
    const viewed = posts.map((post) => [post.uri, readingOf(post, fields)] as const);
    return withMissing(remoteIds, viewed, (uri) => absence(connection, uri));
  },
  async followers(connection) {
    const parameters = { actor: connection.remoteId };
    const method = 'app.bsky.actor.getProfile';
    const profile = await queryWithSession(connection, method, parameters, readProfile);
    return countIn(profile.followersCount) ?? null;
  },
};

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
