import type {
  Connection,
  Finding,
  PreparedPart,
  Network,
  ThreadPart,
  SentPart,
  PublishStep,
} from '../network.ts';
import { metrics } from './metrics.ts';
import { isWritten, writeThread } from './write-thread.ts';
import { prepareThread } from './prepare.ts';
import { preparedPostOf, uriOf, type PreparedPost } from './prepared-post.ts';
import { blueskySettings, rules } from './rules.ts';
import { uploadFiles } from './files/upload.ts';

/**
 * Bluesky, on any PDS.
 *
 * Everything in a thread is fixed before the first attempt: record keys, times, hashes. So the whole thread is one
 * write that can succeed only once, and a reconcile only has to look for the keys.
 */
export const blueskyNetwork: Network = {
  id: 'bluesky',
  rules,
  threads: 'atomic',
  metrics,

  prepare(
    connection: Connection,
    parts: readonly ThreadPart[],
    nowMs: number,
    before: readonly PreparedPart[] = [],
  ): Promise<PreparedPart[]> {
    return prepareThread(connection, parts, { nowMs, before });
  },

  renew(
    connection: Connection,
    parts: readonly PreparedPart[],
    nowMs: number,
    before: readonly PreparedPart[],
  ): Promise<PreparedPart[]> {
    return prepareThread(connection, parts, { nowMs, before });
  },

  upload(connection: Connection, { parts }: PublishStep): Promise<readonly string[]> {
    return uploadFiles(connection, parts);
  },

  async send(connection: Connection, step: PublishStep): Promise<SentPart[]> {
    const posts = step.parts.map(preparedPostOf);
    await writeThread(connection, posts);
    return sentParts(connection, posts);
  },

  async reconcile(connection: Connection, step: PublishStep): Promise<Finding> {
    const posts = step.parts.map(preparedPostOf);
    return (await isWritten(connection, connection.remoteId, posts))
      ? { kind: 'found', candidates: [sentParts(connection, posts)] }
      : { kind: 'absent' };
  },
};

/** Links use the DID, because a handle can change, which would break them. */
function sentParts(connection: Connection, posts: readonly PreparedPost[]): SentPart[] {
  const { webUrl } = blueskySettings(connection.settings);
  const did = connection.remoteId;
  return posts.map((post) => ({
    remoteId: uriOf(did, post),
    url: `${webUrl}/profile/${did}/post/${post.rkey}`,
    ...(post.warnings && post.warnings.length > 0 && { warning: post.warnings.join(' ') }),
  }));
}
