import { answerReader, jsonOf } from '../answer.ts';
import { type Connection, NetworkError } from '../network.ts';
import type { ServerAccess } from '../send-request.ts';
import { errorName, isAccessLost, procedure, query, refusal, unreadable } from './client.ts';
import { cidSchema, collection, type PreparedPost } from './prepared-post.ts';
import { withSession } from './session.ts';

/** Of `com.atproto.repo.applyWrites`. Older servers answer with an empty object. */
const readWritten = answerReader<object>({ type: 'object' });

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
  const response = await withSession(connection, (authorization) => {
    ({ secret } = authorization);
    const method = 'com.atproto.repo.applyWrites';
    return procedure(connection, method, input, { purpose: 'create', authorization });
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
 * Whether a thread was written, by its record keys. Creates nothing, needs no session.
 *
 * A thread is one atomic write, so one record of it proves all: a missing other was deleted since.
 *
 * @throws NetworkError `unconfirmed` when a key holds something else than what was prepared: the account's owner edited
 *   the post, or another post took the key. A person has to look.
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
    const message = 'A Bluesky post stands where this one belongs, and it is not the same.';
    throw new NetworkError('unconfirmed', message, { taken: 'unknown' });
  }
  return false;
}

/** Of `com.atproto.repo.getRecord`. */
const readRecord = answerReader<{ readonly cid: string }>({
  type: 'object',
  required: ['cid'],
  properties: { cid: cidSchema },
});

/** The hash of the record under a key, or null when there is none. */
async function cidOf(server: ServerAccess, repo: string, rkey: string): Promise<string | null> {
  const method = 'com.atproto.repo.getRecord';
  const response = await query(server, method, { repo, collection, rkey }, 'reconcile');
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
