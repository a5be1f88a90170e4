import { jsonOf } from '../answer.ts';
import type { Way } from '../ask.ts';
import { NetworkError } from '../network.ts';
import { readRecord } from './answers.ts';
import { errorName, refusal, unreadable } from './errors.ts';
import { collection, type PreparedPost } from './prepared-post.ts';
import { query } from './xrpc.ts';

/**
 * Whether a thread was written, by its record keys. Creates nothing, needs no session.
 *
 * A thread is one atomic write, so one record of it proves all: a missing other was deleted since.
 *
 * @throws NetworkError `unconfirmed` when a key holds something else than what was prepared: the account's owner edited
 *   the post, or another post took the key. A person has to look.
 */
export async function isWritten(
  way: Way,
  did: string,
  posts: readonly PreparedPost[],
): Promise<boolean> {
  let foreign = false;
  for (const post of posts) {
    const cid = await cidOf(way, did, post.rkey);
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

/** The hash of the record under a key, or null when there is none. */
async function cidOf(way: Way, repo: string, rkey: string): Promise<string | null> {
  const method = 'com.atproto.repo.getRecord';
  const response = await query(way, method, { repo, collection, rkey }, 'look');
  if (errorName(response) === 'RecordNotFound') {
    return null;
  }

  if (response.status !== 200) {
    throw refusal(response, 'look', []);
  }

  const record = readRecord(jsonOf(response));
  if (!record) {
    throw unreadable('look');
  }
  return record.cid;
}
