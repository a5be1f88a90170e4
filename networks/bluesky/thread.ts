import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  anyFields,
  count,
  having,
  listOf,
  mayHave,
  text,
  type Value,
} from '../../domain/json-schema.ts';
import { answerReader, jsonOf } from '../answer.ts';
import type { ServerAccess } from '../http.ts';
import { type Connection, NetworkError, type PreparedPart, type Removal } from '../network.ts';
import { blobSchema } from './blobs.ts';
import { cidSchema, errorName, isAccessLost, xrpcProcedure, xrpcQuery } from './client.ts';
import { withSession } from './session.ts';

export const collection = 'app.bsky.feed.post';

/** A record's URI and its hash: identifies one version of one post. */
export type StrongRef = { readonly uri: string; readonly cid: string };

/** A complete post, made before the first attempt and stored, so that every attempt writes the same bytes and key. */
const preparedSchema = having(
  {
    rkey: { type: 'string', pattern: '^[2-7a-z]{13}$' },
    cid: { type: 'string', minLength: 1 },
    record: anyFields,
  },
  {
    /** The part's files, in order. Absent in parts that were prepared before posts had files. */
    blobs: listOf(blobSchema),
    /** Indexes of the files that were re-encoded. */
    encoded: listOf(count),
    /** Indexes of the files that the video service put on the server. */
    processed: listOf(count),
    thumb: blobSchema,
    warnings: listOf(text),
  },
);

export type PreparedPost = Value<typeof preparedSchema>;

const read = answerReader(preparedSchema);

export function preparedPostOf(part: PreparedPart): PreparedPost {
  const post = read(part.data);
  if (!post) {
    throw new Error(`Part ${part.key} holds no prepared Bluesky post.`);
  }

  return post;
}

export const uriOf = (did: string, { rkey }: { readonly rkey: string }): string =>
  `at://${did}/${collection}/${rkey}`;

const digits = '234567abcdefghijklmnopqrstuvwxyz';

/**
 * The record key of a post: a TID made from its due time and the part's key instead of a clock and chance. Every attempt
 * has the same key, also one that a restored database starts anew, so the server refuses a second post.
 *
 * 53 bits of microseconds (the given milliseconds, and microseconds from the hash), then 10 bits from the hash. Keys of
 * later milliseconds sort after earlier ones.
 *
 * Source: https://atproto.com/specs/tid
 *
 * @param atMs Whole milliseconds since 1970.
 */
export function recordKey(atMs: number, partKey: string): string {
  const hash = createHash('sha256').update(partKey).digest();
  const microseconds = BigInt(atMs) * 1000n + BigInt(hash.readUInt16BE(0) % 1000);
  const value = (microseconds << 10n) | BigInt(hash.readUInt16BE(2) % 1024);
  return Array.from({ length: 13 }, (_, index) => {
    const shift = BigInt(5 * (12 - index));
    return digits.charAt(Number((value >> shift) & 31n));
  }).join('');
}

/** Reads the response of `com.atproto.repo.applyWrites`, which is an empty object on older servers. */
const readWritten = answerReader(anyFields);

/**
 * Writes all posts of a thread, or none of them, in one request.
 *
 * `applyWrites` is used for a single post too: it refuses an existing key, so it can only create. A repeated write gets
 * an error (500 on Bluesky's own server); the records then show whether the first write succeeded.
 */
export async function writeThread(
  connection: Connection,
  posts: readonly PreparedPost[],
): Promise<void> {
  const body = {
    repo: connection.remoteId,
    writes: posts.map(({ rkey, record }) => ({
      $type: 'com.atproto.repo.applyWrites#create',
      collection,
      rkey,
      value: record,
    })),
  };
  const method = 'com.atproto.repo.applyWrites';
  const response = await withSession(connection, (authorization) =>
    xrpcProcedure(connection, method, { body, purpose: 'create' }, authorization),
  );
  if (response.status === 200) {
    if (!readWritten(jsonOf(response))) {
      throw response.unreadable();
    }
    return;
  }

  const mayBeRepeated = ![403, 429].includes(response.status) && !isAccessLost(response);
  if (!mayBeRepeated || !(await isWritten(connection, connection.remoteId, posts))) {
    throw response.refusal();
  }
}

const readDeleted = answerReader(mayHave({ commit: anyFields }));

/** Deletes a post. A server that deletes nothing answers without a commit, not with an error. */
export async function deletePost(connection: Connection, rkey: string): Promise<Removal> {
  const method = 'com.atproto.repo.deleteRecord';
  const body = { repo: connection.remoteId, collection, rkey };
  const answer = await withSession(connection, (authorization) =>
    xrpcProcedure(connection, method, { body, purpose: 'remove' }, authorization),
  );
  return answer.as(readDeleted).commit ? 'removed' : 'not_found';
}

/**
 * Whether a thread was written, by its record keys. Creates nothing and needs no session.
 *
 * A thread is one atomic write, so one record with its hash proves all: a missing record was deleted later. A record
 * that differs in its time only was written by an earlier attempt, which a restored database has forgotten. The thread
 * may have been edited since the backup, so all parts are compared.
 *
 * @throws NetworkError `unconfirmed` when a key holds another record than the prepared one: the owner edited the post,
 *   or another post has the key. A person has to check.
 */
export async function isWritten(
  server: ServerAccess,
  did: string,
  posts: readonly PreparedPost[],
): Promise<boolean> {
  let found = false;
  let foreign = false;
  for (const post of posts) {
    const live = await recordAt(server, did, post.rkey);
    if (live?.cid === post.cid) {
      return true;
    }

    const isSame = live !== null && isSameRecord(live.value, post.record);
    found ||= isSame;
    foreign ||= live !== null && !isSame;
  }

  if (foreign) {
    const message = 'Another Bluesky post has the key of this one, or this one was edited.';
    throw new NetworkError('unconfirmed', message, { accepted: 'unknown' });
  }
  return found;
}

/** Whether two records differ in nothing but their time, and thus in the hashes of the posts that they reply to. */
function isSameRecord(live: object = {}, sent: object): boolean {
  const untimed = { createdAt: null, reply: null };
  return isDeepStrictEqual({ ...live, ...untimed }, { ...sent, ...untimed });
}

const readRecord = answerReader(having({ cid: cidSchema }, { value: anyFields }));

type LiveRecord = NonNullable<ReturnType<typeof readRecord>>;

/** The record under a key; null when there is none. */
async function recordAt(
  server: ServerAccess,
  repo: string,
  rkey: string,
): Promise<LiveRecord | null> {
  const method = 'com.atproto.repo.getRecord';
  const response = await xrpcQuery(server, method, { repo, collection, rkey }, 'reconcile');
  return errorName(response) === 'RecordNotFound' ? null : response.as(readRecord);
}
