import { answerReader, jsonOf } from '../answer.ts';
import { type Connection, NetworkError } from '../network.ts';
import type { ServerAccess } from '../send-network-request.ts';
import {
  errorName,
  isAccessLost,
  xrpcProcedure,
  xrpcQuery,
  refusal,
  unreadable,
} from './client.ts';
import { cidSchema, collection, type PreparedPost } from './prepared-post.ts';
import { withSession } from './session.ts';

/** Reads the response of `com.atproto.repo.applyWrites`, which is an empty object on older servers. */
const readWritten = answerReader<object>({ type: 'object' });

/**
 * Writes all posts of a thread, or none of them, in one request.
 *
 * `applyWrites` is used for a single post too: it refuses an existing key, so it can only create. A repeated write gets
 * an error (500 on Bluesky's own server); the records then show whether the first write succeeded.
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
  const response = await withSession(connection, (authorization) => {
    ({ secret } = authorization);
    const method = 'com.atproto.repo.applyWrites';
    return xrpcProcedure(connection, method, input, { purpose: 'create', authorization });
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

/**
 * Whether a thread was written, by its record keys. Creates nothing and needs no session.
 *
 * A thread is one atomic write, so one of its records proves all: a missing record was deleted later.
 *
 * @throws NetworkError `unconfirmed` when a key holds another record than the prepared one: the owner edited the post,
 *   or another post has the key. A person has to check.
 */
export async function isWritten(
  server: ServerAccess,
  did: string,
  posts: readonly PreparedPost[],
): Promise<boolean> {
  let foreign = false;
  for (const post of posts) {
    const cid = await cidOf(server, did, post.rkey);
    if (cid === post.cid) {
      return true;
    }

    foreign ||= cid !== null;
  }

  if (foreign) {
    const message = 'Another Bluesky post has the key of this one, or this one was edited.';
    throw new NetworkError('unconfirmed', message, { accepted: 'unknown' });
  }
  return false;
}

/** Reads the response of `com.atproto.repo.getRecord`. */
const readRecord = answerReader<{ readonly cid: string }>({
  type: 'object',
  required: ['cid'],
  properties: { cid: cidSchema },
});

/** The hash of the record under a key; null when there is none. */
async function cidOf(server: ServerAccess, repo: string, rkey: string): Promise<string | null> {
  const method = 'com.atproto.repo.getRecord';
  const response = await xrpcQuery(server, method, { repo, collection, rkey }, 'reconcile');
  if (errorName(response) === 'RecordNotFound') {
    return null;
  }

  if (response.status !== 200) {
    throw refusal(response, 'reconcile', []);
  }

  const record = readRecord(jsonOf(response));
  if (!record) {
    throw unreadable('reconcile');
  }
  return record.cid;
}
