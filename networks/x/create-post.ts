import { answerReader } from '../answer.ts';
import { NetworkError, type Connection, type PreparedPart, type SentPart } from '../network.ts';
import type { TokenAccess } from '../access-token.ts';
import { call, idSchema, isSuccess, readAs } from './client.ts';
import { optionFields } from './options.ts';
import { refusal } from './refusal.ts';
import { postUrl } from './settings.ts';
import { keptFiles } from './upload/kept-files.ts';
import type { CreatedPost, CreatePost } from './wire.ts';

const readCreated = answerReader<CreatedPost>({
  type: 'object',
  required: ['data'],
  properties: {
    data: { type: 'object', required: ['id'], properties: { id: idSchema } },
  },
});

/** How long after processing a file X may still not know it when a post uses it, in milliseconds. */
const settlesWithinMs = 2 * 60_000;

/**
 * Creates one post. Must not be repeated without a reconcile: X has no idempotency key.
 *
 * Source: https://docs.x.com/x-api/posts/create-post
 *
 * @param mediaIds The files that were uploaded for it.
 * @throws NetworkError `duplicate` when the account has a post with this text; it may be this very one.
 */
export async function createPost(
  access: TokenAccess,
  connection: Connection,
  part: PreparedPart,
  parent: SentPart | undefined,
  mediaIds: readonly string[],
): Promise<SentPart> {
  const body: CreatePost = {
    ...(part.text !== '' && { text: part.text }),
    ...(mediaIds.length > 0 && { media: { media_ids: mediaIds } }),
    ...(parent && { reply: { in_reply_to_tweet_id: parent.remoteId } }),
    ...optionFields(part.options),
  };
  const request = { method: 'POST', path: '/2/tweets', body, purpose: 'create' } as const;
  const response = await call(access, request);
  if (!isSuccess(response)) {
    const { accessToken } = access;
    const refused = { purpose: 'create', accessToken, isReply: parent !== undefined } as const;
    throw aboutFiles(refusal(response, refused), connection, part);
  }

  const { data } = readAs(response, 'create', readCreated);
  return { remoteId: data.id, url: postUrl(connection.settings, data.id) };
}

/** X reports an invalid id both for a file that it does not know yet, and for one that it rejects. */
function aboutFiles(error: NetworkError, connection: Connection, part: PreparedPart): NetworkError {
  if (error.code !== 'content_refused' || !/media ids?/iv.test(error.message)) {
    return error;
  }

  const isFresh = keptFiles(connection, part).some(
    ({ stateSinceMs }) => Date.now() - stateSinceMs < settlesWithinMs,
  );
  const { message, accepted } = error;
  return new NetworkError(isFresh ? 'network_unavailable' : 'media_refused', message, {
    accepted,
    server: 'answered',
  });
}
