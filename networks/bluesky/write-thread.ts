import { jsonOf } from '../answer.ts';
import type { Connection } from '../network.ts';
import { readWritten } from './answers.ts';
import { isAccessLost, refusal, unreadable } from './errors.ts';
import { collection, type PreparedPost } from './prepared-post.ts';
import { isWritten } from './look-up.ts';
import { withSession } from './session.ts';
import { procedure } from './xrpc.ts';

/**
 * Writes all posts of a thread, or none of them, in one request.
 *
 * `applyWrites` also for a single post: it refuses a key that is taken, so it can only create, never change. A
 * repeated write is therefore answered with an error (500 by Bluesky's own server), and then the records tell which
 * of the two it was.
 *
 * @throws NetworkError
 */
export async function writeThread(
  connection: Connection,
  posts: readonly PreparedPost[],
): Promise<void> {
  let secret = '';
  const input = {
    repo: connection.remoteId,
    writes: posts.map(({ rkey, record }) => ({
      $type: 'com.atproto.repo.applyWrites#create',
      collection,
      rkey,
      value: record,
    })),
  };
  const response = await withSession(connection, (accessJwt) => {
    secret = accessJwt;
    const method = 'com.atproto.repo.applyWrites';
    return procedure(connection, method, input, { purpose: 'create', accessJwt });
  });
  if (response.status === 200) {
    if (!readWritten(jsonOf(response))) {
      throw unreadable('create');
    }
    return;
  }

  const mayBeRepeated = ![403, 429].includes(response.status) && !isAccessLost(response);
  if (!mayBeRepeated || !(await isWritten(connection, connection.remoteId, posts))) {
    throw refusal(response, 'create', [secret]);
  }
}
