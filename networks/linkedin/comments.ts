import {
  anything,
  having,
  listOf,
  mayHave,
  text as textSchema,
  type Value,
} from '../../domain/json-schema.ts';
import { answerReader, comparedText, jsonOf } from '../answer.ts';
import { isSuccess, removalOf, type NamedRequest } from '../client.ts';
import { NetworkError, type PreparedPart, type Removal, type SentPart } from '../network.ts';
import { call, type LinkedinAccess, type LinkedinAnswer } from './client.ts';
import {
  mayBeOf,
  preparedOf,
  commentPage,
  isCommentUrn,
  postPage,
  postUrnOf,
  type Author,
} from './posts.ts';

const needs =
  'the Community Management API and its permission to comment (w_member_social_feed, for pages w_organization_social_feed)';

/** A comment in a response. API versions name it differently, and some responses do not name it at all. */
const commentSchema = mayHave({
  $URN: textSchema,
  commentUrn: textSchema,
  id: textSchema,
  /** The commented entity: the first part of its URN. */
  object: textSchema,
  actor: textSchema,
  message: mayHave({ text: comparedText }),
  created: mayHave({ time: { type: 'integer' } }),
});

type Comment = Value<typeof commentSchema>;

const readComment = answerReader(commentSchema);

const readComments = answerReader(having({ elements: listOf(anything) }));

/**
 * Writes a comment below a post. Must not be repeated: LinkedIn accepts duplicates. Its text is plain, unlike a post's.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/comments-api
 */
export async function createComment(
  access: LinkedinAccess,
  author: Author,
  { text }: PreparedPart,
  post: SentPart,
): Promise<SentPart> {
  const response = await ask(access, post, {
    method: 'POST',
    path: '',
    body: { actor: author.urn, object: post.remoteId, message: { text } },
    purpose: 'create',
    needs,
  });
  if (response.status === 404) {
    const message = 'LinkedIn cannot find the post that the comment is for (HTTP 404).';
    throw new NetworkError('content_refused', message, { accepted: 'no', server: 'answered' });
  }
  if (!isSuccess(response)) {
    throw response.refusal();
  }

  // The comment exists even if the response cannot be read; a second send would duplicate it.
  const comment = readComment(jsonOf(response)) ?? {};
  return sentPartOf(author, post, { id: response.headers['x-restli-id'] ?? '', ...comment });
}

const pageSize = 100;

/**
 * The author's comments below a post that may be this part, oldest first. The first page suffices, because a first
 * comment is reconciled within minutes of its post.
 *
 * @throws NetworkError `unconfirmed` when LinkedIn does not show comments to this app.
 */
export async function findComments(
  access: LinkedinAccess,
  author: Author,
  part: PreparedPart,
  post: SentPart,
): Promise<readonly SentPart[]> {
  const path = `?start=0&count=${pageSize}`;
  const response = await ask(access, post, { method: 'GET', path, purpose: 'reconcile' });
  if (response.status === 403) {
    const message =
      'LinkedIn does not show comments to this app, and may or may not have the first one.';
    throw new NetworkError('unconfirmed', message, { accepted: 'unknown', server: 'answered' });
  }
  if (response.status === 404) {
    return []; // The post itself no longer exists.
  }

  const { elements } = response.as(readComments);
  const prepared = preparedOf(part.data);
  return elements
    .flatMap((element) => readComment(element) ?? [])
    .filter(
      ({ actor, message, created }) =>
        actor === author.urn &&
        message?.text === part.text &&
        mayBeOf(prepared, created?.time ?? Infinity),
    )
    .map((comment) => sentPartOf(author, post, comment));
}

/** Deletes a comment. One whose id LinkedIn never told goes with its post. */
export async function deleteComment(
  access: LinkedinAccess,
  { urn }: Author,
  post: SentPart,
  { remoteId }: SentPart,
): Promise<Removal> {
  if (!isCommentUrn(remoteId)) {
    return 'removed';
  }

  const id = /(?<!\d)(?<id>\d+)\)$/v.exec(remoteId)?.groups?.['id'];
  const path = `/${id}?${new URLSearchParams({ actor: urn })}`;
  const request = { method: 'DELETE', path, purpose: 'remove', needs } as const;
  return removalOf(await ask(access, post, request));
}

/**
 * The versioned comments API is only for apps of the Community Management API, whatever the token permits. The older
 * API, which has no versions, still accepts some other apps.
 *
 * @param request Its path is appended to the path of the post's comments.
 */
async function ask(
  access: LinkedinAccess,
  { remoteId }: SentPart,
  request: NamedRequest,
): Promise<LinkedinAnswer> {
  const path = `/socialActions/${encodeURIComponent(remoteId)}/comments${request.path}`;
  const response = await call(access, { ...request, path: `/rest${path}` });
  if (response.status !== 403) {
    return response;
  }

  const older = await call(access, { ...request, path: `/v2${path}` });
  return older.status === 404 ? response : older;
}

function sentPartOf({ webUrl }: Author, post: SentPart, comment: Comment): SentPart {
  const urn = urnOf(comment, post);
  return urn === null
    ? { remoteId: `${post.remoteId}#comment`, url: postPage(webUrl, post.remoteId) }
    : { remoteId: urn, url: commentPage(webUrl, post.remoteId, urn) };
}

function urnOf({ $URN, commentUrn, id, object }: Comment, post: SentPart): string | null {
  const built = `urn:li:comment:(${postUrnOf(object) ?? post.remoteId},${id})`;
  return (
    [$URN, commentUrn, id, built].find((urn) => urn !== undefined && isCommentUrn(urn)) ?? null
  );
}
