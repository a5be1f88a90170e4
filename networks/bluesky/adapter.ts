import type {
  Connection,
  Finding,
  PreparedPart,
  Network,
  Part,
  SentPart,
  Step,
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
 * Everything of a thread is made before the first try: keys, times, hashes. So the whole thread is one write that can
 * succeed only once, and whether it did is a look at its keys.
 */
export const bluesky: Network = {
  id: 'bluesky',
  rules,
  threads: 'atomic',
  metrics,

  prepare(
    connection: Connection,
    parts: readonly Part[],
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

  upload(connection: Connection, { parts }: Step): Promise<readonly string[]> {
    return uploadFiles(connection, parts);
  },

  async send(connection: Connection, step: Step): Promise<SentPart[]> {
    const posts = step.parts.map(preparedPostOf);
    await writeThread(connection, posts);
    return sentParts(connection, posts);
  },

  async reconcile(connection: Connection, step: Step): Promise<Finding> {
    const posts = step.parts.map(preparedPostOf);
    return (await isWritten(connection, connection.remoteId, posts))
      ? { kind: 'found', candidates: [sentParts(connection, posts)] }
      : { kind: 'absent' };
  },
};

/** Links by DID, not by handle: a handle changes, and its old links lead nowhere. */
function sentParts(connection: Connection, posts: readonly PreparedPost[]): SentPart[] {
  const { webUrl } = blueskySettings(connection.settings);
  const did = connection.remoteId;
  return posts.map((post) => ({
    remoteId: uriOf(did, post),
    url: `${webUrl}/profile/${did}/post/${post.rkey}`,
    ...(post.warnings && post.warnings.length > 0 && { warning: post.warnings.join(' ') }),
  }));
}
