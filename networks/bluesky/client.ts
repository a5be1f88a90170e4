import type { ChannelErrorCode, LimitScope } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs, takesNoMore } from '../answer.ts';
import { NetworkError } from '../network.ts';
import {
  sendRequest,
  type Purpose,
  type NetworkRequest,
  takenAfter,
  type ServerAccess,
} from '../send-request.ts';

const serverName = 'The Bluesky server';

export const didSchema = {
  type: 'string',
  pattern: '^did:[a-z]+:[\\x21-\\x7e]+$',
  maxLength: 2048,
};

/**
 * Calls a method that reads: without a session what is public. Hands back refusals as they are.
 *
 * @param parameters A list becomes one parameter for each of its items.
 */
export const query = (
  server: ServerAccess,
  method: string,
  parameters: Readonly<Record<string, string | readonly string[]>>,
  purpose: Purpose,
  authorization?: Authorization,
): Promise<EgressResponse> => {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    [value].flat().map((item): [string, string] => [name, item]),
  );
  const path = `/xrpc/${method}?${new URLSearchParams(pairs)}`;
  const headers = authorization?.headersFor('GET', path) ?? {};
  return sendRequest(server, { method: 'GET', path, headers, purpose }, serverName);
};

/** How requests show whose account they are for. */
export type Authorization = {
  /** Not to be repeated in any message. */
  readonly secret: string;
  readonly headersFor: (method: 'GET' | 'POST', path: string) => Readonly<Record<string, string>>;
};

export const bearer = (accessJwt: string): Authorization => ({
  secret: accessJwt,
  headersFor: () => ({ authorization: `Bearer ${accessJwt}` }),
});

/** Calls a method that changes something. Hands back refusals as they are. */
export const procedure = (
  server: ServerAccess,
  method: string,
  input: unknown,
  options: { readonly purpose: Purpose; readonly authorization?: Authorization },
): Promise<EgressResponse> => {
  const { purpose, authorization } = options;
  const path = `/xrpc/${method}`;
  const headers = authorization?.headersFor('POST', path) ?? {};
  return sendRequest(server, { method: 'POST', path, headers, body: input, purpose }, serverName);
};

/** Asks whose account this is. Creates nothing. Hands back refusals as they are. */
export const getSession = (
  server: ServerAccess,
  authorization: Authorization,
): Promise<EgressResponse> => {
  const path = '/xrpc/com.atproto.server.getSession';
  const headers = authorization.headersFor('GET', path);
  return sendRequest(server, { method: 'GET', path, headers, purpose: 'prepare' }, serverName);
};

/** Brings a file. Hands back refusals as they are. */
export const uploadBlob = (
  server: ServerAccess,
  file: NonNullable<NetworkRequest['file']>,
  authorization: Authorization,
): Promise<EgressResponse> => {
  const path = '/xrpc/com.atproto.repo.uploadBlob';
  const headers = authorization.headersFor('POST', path);
  return sendRequest(
    server,
    { method: 'POST', path, headers, file, purpose: 'upload' },
    serverName,
  );
};

type XrpcError = { readonly error: string; readonly message?: string };

/** Of an answer that is no success. */
export const readXrpcError = answerReader<XrpcError>({
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, message: { type: 'string' } },
});

/** The name that XRPC gives an error: `ExpiredToken`. Empty when the answer has none. */
export const errorName = (response: EgressResponse): string =>
  readXrpcError(jsonOf(response))?.error ?? '';

/** Whether the server refused a proof for its nonce alone (RFC 9449, section 9). */
export const wantsNonce = (response: EgressResponse): boolean =>
  response.status === 401 && errorName(response) === 'use_dpop_nonce';

/** Whether the server refused a proof and not the token: by our clock, or by the address that it knows itself by. */
const isProofRefused = (response: EgressResponse): boolean =>
  response.status === 401 && ['use_dpop_nonce', 'invalid_dpop_proof'].includes(errorName(response));

/**
 * Whether the server refused the token, so that a new one can help. It says so with 400, where others say 401.
 * `AccountTakedown` and `AccountDeactivated` are about the account instead.
 */
export function isTokenRefused(response: EgressResponse): boolean {
  const name = errorName(response);
  return (
    (response.status === 401 && !name.startsWith('Account') && !isProofRefused(response)) ||
    (response.status === 400 && (name === 'ExpiredToken' || name === 'InvalidToken'))
  );
}

/**
 * Casts an answer that is not a success to what it means for the post.
 *
 * @param secrets Not to be repeated in the message.
 * @param fileName Of the file that was brought.
 */
export function refusal(
  response: EgressResponse,
  purpose: Purpose,
  secrets: readonly string[],
  fileName?: string,
): NetworkError {
  const { code, saying } = meaning(response, purpose, fileName);
  const error = readXrpcError(jsonOf(response));
  const words = quote(error?.message ?? error?.error, secrets);
  const message = `The Bluesky server ${saying} (HTTP ${response.status})`;
  const certainlyNot = response.status >= 300 && response.status < 500 && response.status !== 408;
  return new NetworkError(code, `${message}${words && `: ${words}`}.`, {
    taken: takenAfter(purpose, certainlyNot),
    retryAtMs: retryAtMs(response, Date.now()),
    limit: limitIn(response),
    server: 'answered',
  });
}

/**
 * A PDS counts every call by the caller's address (3000 in 5 minutes), which is ours and so the same for all channels
 * there; writes by account; and logins by both (30 in 5 minutes). The policy says which of its limits was met. An
 * answer without one comes from something before the PDS, and cannot be told.
 *
 * Sources: `rate-limits.js` and `createSession.js` of @atproto/pds.
 */
function limitIn({ headers }: EgressResponse): LimitScope {
  const [, points, seconds] = /^(\d+);w=(\d+)$/.exec(headers['ratelimit-policy'] ?? '') ?? [];
  return seconds === '300' && Number(points) >= fewestByAddress ? 'server' : 'channel';
}

/** Far above the limit of logins and below that of all calls. */
const fewestByAddress = 1000;

/** An answer of success that is no answer of a Bluesky server: the posts may be there all the same. */
export const unreadable = (purpose: Purpose): NetworkError =>
  new NetworkError(
    'network_unavailable',
    'The Bluesky server gave an answer that does not read as one.',
    { taken: takenAfter(purpose, false), server: 'answered' },
  );

/** Whether the account cannot be entered, because of its token or its own state. */
export const isAccessLost = (response: EgressResponse): boolean =>
  (response.status === 401 && !isProofRefused(response)) || isTokenRefused(response);

/** A file is another one than the record says, or the part of the record that names the files is wrong. */
function isAboutFiles(response: EgressResponse): boolean {
  const { error = '', message = '' } = readXrpcError(jsonOf(response)) ?? {};
  return (
    response.status === 400 &&
    (error === 'InvalidMimeType' ||
      error === 'InvalidSize' ||
      /\brecord\b.*\bembed\b/iu.test(message))
  );
}

type Meaning = { readonly code: ChannelErrorCode; readonly saying: string };

function meaning(response: EgressResponse, purpose: Purpose, fileName?: string): Meaning {
  const { status } = response;
  if (isAccessLost(response)) {
    return { code: 'access_lost', saying: 'does not let this account in' };
  }
  if (isProofRefused(response)) {
    return {
      code: 'internal',
      saying: "did not take the proof of a request; is this machine's clock right?",
    };
  }
  if (status === 403) {
    return { code: 'permission_missing', saying: 'does not permit this' };
  }
  if (status === 429) {
    return { code: 'rate_limited', saying: takesNoMore[limitIn(response)] };
  }
  if (purpose === 'upload' && [400, 409, 413, 415, 422].includes(status)) {
    return { code: 'media_refused', saying: `refused the file "${fileName}"` };
  }
  if (purpose === 'create' && isAboutFiles(response)) {
    return { code: 'media_refused', saying: 'refused a file of the post' };
  }
  if (purpose === 'create' && [400, 409, 413, 422].includes(status)) {
    return { code: 'content_refused', saying: 'refused the post' };
  }

  return {
    code: 'network_unavailable',
    saying: status >= 500 ? 'could not do it at the moment' : 'does not know what was asked',
  };
}
