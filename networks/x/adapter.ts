import { count, flag, having, type Value } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import type { Rules } from '../content-rules.ts';
import { findOwn } from '../find-own.ts';
import {
  NetworkError,
  type Connection,
  type Finding,
  type Network,
  type PreparedPart,
  type SentPart,
  type PublishStep,
  type Removal,
  onlyPart,
} from '../network.ts';
import { keptUploads } from '../uploads/resumable.ts';
import { ask, call, idSchema } from './client.ts';
import { postUrl } from './connect.ts';
import { idBefore, ownPostsSince, isSameText } from './find-post.ts';
import { defaultReads, xMetrics } from './metrics.ts';
import { chosenIn } from './rules.ts';
import { uploadFile, type XUpload } from './uploads.ts';

const preparedSchema = having(
  {
    /** Older than any post of this part. */
    sinceId: idSchema,
    mediaCount: count,
  },
  { isDoubted: flag },
);

type Prepared = Value<typeof preparedSchema>;

const readPrepared = answerReader(preparedSchema);

/** The most that our clock may be ahead of X's, in milliseconds. */
const clockErrorMs = 15 * 60_000;

/**
 * X, by version 2 of its API. A thread goes out post by post, each a reply to the previous one.
 *
 * X charges for reads, so nothing is read before a post. Its ids contain the time, and a reconcile begins at the time
 * when the part was prepared. Slightly older posts cannot be equal, because X refuses a duplicate text.
 */
export const createXNetwork = (rules: Rules, readsPerMonth = defaultReads.perMonth): Network => ({
  id: 'x',
  rules,
  threads: 'sequential',
  ...(readsPerMonth > 0 && { metrics: xMetrics(readsPerMonth) }),

  prepare: async (_connection, parts, nowMs) =>
    parts.map((part) => {
      const sinceId = idBefore(nowMs - clockErrorMs);
      const data: Prepared = { sinceId, mediaCount: part.media.length };
      return { ...part, data };
    }),

  upload(connection, step) {
    const part = onlyPart(step);
    return Array.fromAsync(part.media, (file) => uploadFile(connection, part, file));
  },

  async send(connection, step, files) {
    const part = onlyPart(step);
    try {
      return [await createPost(connection, part, step.sent.at(-1), files)];
    } catch (error) {
      throw error instanceof NetworkError && error.code === 'duplicate'
        ? await withExisting(error, connection, step)
        : error;
    }
  },

  reconcile,

  remove: (connection, live) => deletePost(connection, live.at(-1)?.remoteId ?? ''),
});

/**
 * The existing duplicate may come from an earlier send that a reconcile did not find; the ledger decides. Without such
 * a send it is the owner's own post.
 */
async function withExisting(
  { code, message, accepted }: NetworkError,
  connection: Connection,
  step: PublishStep,
): Promise<NetworkError> {
  if (!readPrepared(onlyPart(step).data)?.isDoubted) {
    return new NetworkError(code, message, { accepted, server: 'answered' });
  }

  const finding = await reconcile(connection, step);
  const existing = finding.kind === 'found' ? finding.candidates.at(-1) : undefined;
  return existing
    ? new NetworkError(code, message, { accepted, server: 'answered', existing })
    : new NetworkError('network_unavailable', `${message} It does not show that post yet.`, {
        accepted: 'unknown',
        server: 'answered',
      });
}

async function reconcile(connection: Connection, step: PublishStep): Promise<Finding> {
  const part = onlyPart(step);
  const prepared = readPrepared(part.data);
  const parentId = step.sent.at(-1)?.remoteId;
  const sinceId = parentId ?? prepared?.sinceId ?? idBefore(0);
  const finding = await findOwn(ownPostsSince(connection, sinceId), (posts) =>
    posts
      .filter(({ id, conversation_id: thread, attachments }) => {
        // A post that is not a reply begins a conversation.
        const inPlace = thread === (step.sent[0]?.remoteId ?? id);
        // X's specification allows null for a post's files; then only the text decides.
        const files = attachments?.media_keys;
        return inPlace && (files === null || (files?.length ?? 0) === (prepared?.mediaCount ?? 0));
      })
      .filter((post) => isSameText(post, part.text))
      .map(({ id }) => ({ remoteId: id, url: postUrl(connection.settings, id) })),
  );
  if (finding.kind === 'found') {
    return finding;
  }

  const noted: Prepared = {
    sinceId: prepared?.sinceId ?? idBefore(0),
    mediaCount: part.media.length,
    isDoubted: true,
  };
  // The second time, X refuses a duplicate that it may not show, and that may be this post.
  return { kind: 'absent', data: [noted], isHidden: prepared?.isDoubted === true };
}

const readCreated = answerReader(having({ data: having({ id: idSchema }) }));

/** How long after processing a file X may still not know it when a post uses it, in milliseconds. */
const settlesWithinMs = 2 * 60_000;

/**
 * Creates one post. Must not be repeated without a reconcile: X has no idempotency key.
 *
 * Source: https://docs.x.com/x-api/posts/create-post
 */
async function createPost(
  connection: Connection,
  part: PreparedPart,
  parent: SentPart | undefined,
  mediaIds: readonly string[],
): Promise<SentPart> {
  const { made_with_ai: isMadeWithAi, paid_partnership: isPaid } = chosenIn(part.options);
  const body = {
    ...(part.text !== '' && { text: part.text }),
    ...(mediaIds.length > 0 && { media: { media_ids: mediaIds } }),
    ...(parent && { reply: { in_reply_to_tweet_id: parent.remoteId } }),
    ...(isMadeWithAi && { made_with_ai: true }),
    ...(isPaid && { paid_partnership: true }),
  };
  const request = {
    method: 'POST',
    path: '/2/tweets',
    body,
    purpose: 'create',
    isReply: parent !== undefined,
  } as const;
  try {
    const { data } = await ask(connection, request, readCreated);
    return { remoteId: data.id, url: postUrl(connection.settings, data.id) };
  } catch (error) {
    throw error instanceof NetworkError ? aboutFiles(error, connection, part) : error;
  }
}

const readDeleted = answerReader(having({ data: having({ deleted: flag }) }));

/**
 * Deletes one of the account's posts. `deleted` is false if this request deleted nothing.
 *
 * Source: https://docs.x.com/x-api/posts/delete-post
 */
async function deletePost(connection: Connection, id: string): Promise<Removal> {
  const path = `/2/tweets/${encodeURIComponent(id)}`;
  const answer = await call(connection, { method: 'DELETE', path, purpose: 'remove' });
  return !answer.isGone() && answer.as(readDeleted).data.deleted ? 'removed' : 'not_found';
}

/** X reports an invalid id both for a file that it does not know yet, and for one that it rejects. */
function aboutFiles(error: NetworkError, connection: Connection, part: PreparedPart): NetworkError {
  if (error.code !== 'content_refused' || !/media ids?/iv.test(error.message)) {
    return error;
  }

  const isFresh = keptUploads<XUpload>(connection, part).some(
    ({ stateSinceMs }) => Date.now() - stateSinceMs < settlesWithinMs,
  );
  const { message, accepted } = error;
  return new NetworkError(isFresh ? 'network_unavailable' : 'media_refused', message, {
    accepted,
    server: 'answered',
  });
}
