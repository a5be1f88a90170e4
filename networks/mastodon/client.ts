import type { ChannelErrorCode, LimitScope } from '../../domain/channel-error.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import {
  type TokenAccess,
  bearerHeader,
  openAccess,
  sendNetworkRequest,
  type Purpose,
  type NetworkRequest,
  acceptedAfter,
  type ServerAccess,
} from '../http.ts';
import { answerReader, jsonOf, quote, retryAtMs, limitReached } from '../answer.ts';
import { NetworkError } from '../network.ts';

/** An opaque id: a decimal number on Mastodon, a ULID on GoToSocial. URLs cannot contain lone surrogates. */
export const idSchema = { type: 'string', pattern: '^[^\\p{Cc}\\p{Z}\\p{Cs}]+$', maxLength: 255 };

export const serverName = 'The Mastodon server';

/** @throws NetworkError `access_lost` when the credentials are not those of a Mastodon account. */
export const accessWith = (
  server: ServerAccess,
  credentials: Json,
  purpose: Purpose,
): TokenAccess => openAccess(server, credentials, purpose, 'a Mastodon server');

/** One `GET` with the token. Returns refusals as responses. */
export const get = (access: TokenAccess, path: string, purpose: Purpose): Promise<EgressResponse> =>
  sendNetworkRequest(
    access.server,
    { method: 'GET', path, headers: bearerHeader(access), purpose },
    serverName,
  );

/** One `DELETE` with the token. Returns refusals as responses. */
export const remove = (access: TokenAccess, path: string): Promise<EgressResponse> =>
  sendNetworkRequest(
    access.server,
    { method: 'DELETE', path, headers: bearerHeader(access), purpose: 'remove' },
    serverName,
  );

/**
 * One `GET` with a checked response.
 *
 * @throws NetworkError for a refusal or an unexpected response.
 */
export async function getAs<T>(
  access: TokenAccess,
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

/** One `POST` that creates something, with an idempotency key, which not all servers honour. */
export const create = (
  access: TokenAccess,
  path: string,
  idempotencyKey: string,
  body: unknown,
): Promise<EgressResponse> =>
  sendNetworkRequest(
    access.server,
    {
      method: 'POST',
      path,
      headers: { ...bearerHeader(access), 'idempotency-key': idempotencyKey },
      body,
      purpose: 'create',
    },
    serverName,
  );

/** One `POST` that uploads a file and creates no post. */
export const sendFile = (
  access: TokenAccess,
  path: string,
  file: NonNullable<NetworkRequest['file']>,
): Promise<EgressResponse> =>
  sendNetworkRequest(
    access.server,
    { method: 'POST', path, headers: bearerHeader(access), file, purpose: 'upload' },
    serverName,
  );

/** Reads the body of an error response. */
export const readRefusal = answerReader<{ readonly error: string }>({
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' } },
});

type RefusedRequest = {
  readonly purpose: Purpose;
  /** Must not appear in the message. */
  readonly accessToken: string;
  /** Whether the post continues another one. */
  readonly isReply?: boolean;
  /** The name of the uploaded file, for the message. */
  readonly fileName?: string;
};

/** Converts an error response to a NetworkError. */
export function refusal(response: EgressResponse, refused: RefusedRequest): NetworkError {
  const { code, saying, certainlyNot } = meaning(response, refused);
  const serverMessage = quote(readRefusal(jsonOf(response))?.error, [refused.accessToken]);
  const message = `The Mastodon server ${saying} (HTTP ${response.status})`;
  return new NetworkError(code, `${message}${serverMessage && `: ${serverMessage}`}.`, {
    accepted: acceptedAfter(refused.purpose, certainlyNot),
    retryAtMs: retryAtMs(response, Date.now()),
    limit: limitIn(response),
    server: 'answered',
  });
}

/**
 * The scope of the limit that was met. Mastodon counts calls by account. GoToSocial counts by the caller's address, so
 * that all our channels there share the limit; only its message tells them apart.
 *
 * Sources: https://docs.joinmastodon.org/api/rate-limits/, GoToSocial's `internal/middleware/ratelimit.go`.
 */
const limitIn = (response: EgressResponse): LimitScope =>
  readRefusal(jsonOf(response))?.error === 'rate limit reached' ? 'server' : 'channel';

/** For a success status with an unexpected body: the post may exist all the same. */
export const unreadable = (purpose: Purpose): NetworkError =>
  new NetworkError('network_unavailable', 'The Mastodon server returned an unexpected response.', {
    accepted: acceptedAfter(purpose, false),
    server: 'answered',
  });

type Meaning = {
  readonly code: ChannelErrorCode;
  readonly saying: string;
  /** False when a proxy may have answered for a server that did post. */
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
    return { code: 'rate_limited', saying: limitReached[limitIn(response)], certainlyNot };
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
    // The response to a token that belongs to an app and to no account.
    return { code: 'access_lost', saying: 'needs the token of an account', certainlyNot };
  }

  const saying =
    status >= 500 ? 'could not do it at the moment' : 'has no Mastodon API at this address';
  return { code: 'network_unavailable', saying, certainlyNot };
}

/** The other statuses, such as 3xx, 404, 405 and 410, mean that no Mastodon API is at this address. */
const isAboutContent = (status: number): boolean =>
  status >= 400 && status < 500 && ![404, 405, 408, 410].includes(status);
