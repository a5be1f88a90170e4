import type { ChannelErrorCode, LimitScope } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs, takesNoMore } from '../answer.ts';
import { type Access, bearer, openAccess } from '../access-token.ts';
import type { Json } from '../../domain/json-schema.ts';
import { NetworkError } from '../network.ts';
import {
  sendRequest,
  type Purpose,
  type NetworkRequest,
  takenAfter,
  type ServerAccess,
} from '../send-request.ts';

/** An id is opaque: Mastodon's are decimal numbers, GoToSocial's are ULIDs. Half a surrogate pair stands in no address. */
export const idSchema = { type: 'string', pattern: '^[^\\p{Cc}\\p{Z}\\p{Cs}]+$', maxLength: 255 };

export const serverName = 'The Mastodon server';

/** @throws NetworkError `access_lost` when the credentials are not those of a Mastodon account. */
export const accessWith = (server: ServerAccess, credentials: Json, purpose: Purpose): Access =>
  openAccess(server, credentials, purpose, 'a Mastodon server');

/** One `GET` with the token. Hands back refusals as they are. */
export const get = (access: Access, path: string, purpose: Purpose): Promise<EgressResponse> =>
  sendRequest(access.server, { method: 'GET', path, headers: bearer(access), purpose }, serverName);

/**
 * One `GET` whose answer must have a shape.
 *
 * @throws NetworkError when the server refuses, or its answer does not read.
 */
export async function getAs<T>(
  access: Access,
  path: string,
  purpose: Purpose,
  read: (value: unknown) => T | null,
): Promise<T> {
  const response = await get(access, path, purpose);
  if (response.status !== 200) {
    throw refusal(response, { purpose, accessToken: access.accessToken });
  }

  const value = read(jsonOf(response));
  if (value === null) {
    throw unreadable(purpose);
  }
  return value;
}

/** One `POST` that creates something, with the key that a server may use to make it only once. */
export const create = (
  access: Access,
  path: string,
  idempotencyKey: string,
  body: unknown,
): Promise<EgressResponse> =>
  sendRequest(
    access.server,
    {
      method: 'POST',
      path,
      headers: { ...bearer(access), 'idempotency-key': idempotencyKey },
      body,
      purpose: 'create',
    },
    serverName,
  );

/** One `POST` that brings a file and creates no post. */
export const sendFile = (
  access: Access,
  path: string,
  file: NonNullable<NetworkRequest['file']>,
): Promise<EgressResponse> =>
  sendRequest(
    access.server,
    { method: 'POST', path, headers: bearer(access), file, purpose: 'upload' },
    serverName,
  );

/** Of an answer that is no success: what the API says, in whatever words. */
export const readRefusal = answerReader<{ readonly error: string }>({
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' } },
});

type RefusedRequest = {
  readonly purpose: Purpose;
  /** Not to be repeated in the message. */
  readonly accessToken: string;
  /** The post was to continue another one. */
  readonly isReply?: boolean;
  /** Of the file that was brought, for the message. */
  readonly fileName?: string;
};

/** Casts an answer that is not a success to what it means for the post. */
export function refusal(response: EgressResponse, refused: RefusedRequest): NetworkError {
  const { code, saying, certainlyNot } = meaning(response, refused);
  const words = quote(readRefusal(jsonOf(response))?.error, [refused.accessToken]);
  const message = `The Mastodon server ${saying} (HTTP ${response.status})`;
  return new NetworkError(code, `${message}${words && `: ${words}`}.`, {
    taken: takenAfter(refused.purpose, certainlyNot),
    retryAtMs: retryAtMs(response, Date.now()),
    limit: limitIn(response),
    server: 'answered',
  });
}

/**
 * Mastodon counts calls with a token by account. GoToSocial counts all by the caller's address, so that its limit is
 * met by every channel of ours there; only its words tell it apart.
 *
 * Sources: https://docs.joinmastodon.org/api/rate-limits/, GoToSocial's `internal/middleware/ratelimit.go`.
 */
const limitIn = (response: EgressResponse): LimitScope =>
  readRefusal(jsonOf(response))?.error === 'rate limit reached' ? 'server' : 'channel';

/** An answer of success that is no Mastodon answer: the post may be there all the same. */
export const unreadable = (purpose: Purpose): NetworkError =>
  new NetworkError(
    'network_unavailable',
    'The Mastodon server gave an answer that does not read as one.',
    { taken: takenAfter(purpose, false), server: 'answered' },
  );

type Meaning = {
  readonly code: ChannelErrorCode;
  readonly saying: string;
  /** False where something in front of the server may have answered for one that did post. */
  readonly certainlyNot: boolean;
};

function meaning(
  response: EgressResponse,
  { purpose, isReply, fileName }: RefusedRequest,
): Meaning {
  const { status } = response;
  const certainlyNot = status >= 300 && status < 500 && status !== 408;
  if (status === 401) {
    return { code: 'access_lost', saying: 'does not accept the access token', certainlyNot };
  }
  if (status === 403) {
    return { code: 'permission_missing', saying: 'does not permit this', certainlyNot };
  }
  if (status === 429) {
    return { code: 'rate_limited', saying: takesNoMore[limitIn(response)], certainlyNot };
  }
  if (status === 404 && purpose === 'create' && isReply) {
    const saying = 'cannot find the post that this one continues';
    return { code: 'content_refused', saying, certainlyNot };
  }
  if (purpose === 'create' && isAboutContent(status)) {
    return { code: 'content_refused', saying: 'refused the post', certainlyNot };
  }
  if (purpose === 'upload' && isAboutContent(status)) {
    return { code: 'media_refused', saying: `refused the file "${fileName}"`, certainlyNot };
  }
  if (purpose !== 'create' && status === 422) {
    // What a token gets that belongs to an app and to no account.
    return { code: 'access_lost', saying: 'wants the token of an account', certainlyNot };
  }

  const saying =
    status >= 500 ? 'could not do it at the moment' : 'has no Mastodon API at this address';
  return { code: 'network_unavailable', saying, certainlyNot };
}

/** Of the others, 3xx, 404, 405 and 410 say that no Mastodon API is at this address (now). */
const isAboutContent = (status: number): boolean =>
  status >= 400 && status < 500 && ![404, 405, 408, 410].includes(status);
