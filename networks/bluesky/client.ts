import type { ChannelErrorCode, LimitScope } from '../../domain/channel-error.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs, limitReached } from '../answer.ts';
import {
  sendNetworkRequest,
  type Purpose,
  type NetworkRequest,
  acceptedAfter,
  type ServerAccess,
} from '../http.ts';
import { NetworkError } from '../network.ts';

const serverName = 'The Bluesky server';

export const didSchema = {
  type: 'string',
  pattern: '^did:[a-z]+:[\\x21-\\x7e]+$',
  maxLength: 2048,
};

export const cidSchema = { type: 'string', pattern: '^[a-z0-9]+$', maxLength: 255 };

/**
 * Calls an XRPC query; without an authorization it reads public data. Returns refusals as responses.
 *
 * @param parameters A list becomes one parameter per item.
 */
export const xrpcQuery = (
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
  return sendNetworkRequest(server, { method: 'GET', path, headers, purpose }, serverName);
};

/** How a request proves which account it is for. */
export type Authorization = {
  /** Must not appear in any message. */
  readonly secret: string;
  readonly headersFor: (method: 'GET' | 'POST', path: string) => Readonly<Record<string, string>>;
};

export const bearerAuthorization = (accessJwt: string): Authorization => ({
  secret: accessJwt,
  headersFor: () => ({ authorization: `Bearer ${accessJwt}` }),
});

/** Calls an XRPC procedure. Returns refusals as responses. */
export const xrpcProcedure = (
  server: ServerAccess,
  method: string,
  input: unknown,
  options: { readonly purpose: Purpose; readonly authorization?: Authorization },
): Promise<EgressResponse> => {
  const { purpose, authorization } = options;
  const path = `/xrpc/${method}`;
  const headers = authorization?.headersFor('POST', path) ?? {};
  return sendNetworkRequest(
    server,
    { method: 'POST', path, headers, body: input, purpose },
    serverName,
  );
};

/** Reads the account's identity. Returns refusals as responses. */
export const getSession = (
  server: ServerAccess,
  authorization: Authorization,
): Promise<EgressResponse> => {
  const path = '/xrpc/com.atproto.server.getSession';
  const headers = authorization.headersFor('GET', path);
  return sendNetworkRequest(
    server,
    { method: 'GET', path, headers, purpose: 'prepare' },
    serverName,
  );
};

/** Uploads a file. Returns refusals as responses. */
export const uploadBlob = (
  server: ServerAccess,
  file: NonNullable<NetworkRequest['file']>,
  authorization: Authorization,
): Promise<EgressResponse> => {
  const path = '/xrpc/com.atproto.repo.uploadBlob';
  const headers = authorization.headersFor('POST', path);
  return sendNetworkRequest(
    server,
    { method: 'POST', path, headers, file, purpose: 'upload' },
    serverName,
  );
};

/** Reads the response of `com.atproto.identity.resolveHandle`. */
const readDid = answerReader<{ readonly did: string }>({
  type: 'object',
  required: ['did'],
  properties: { did: didSchema },
});

/**
 * Asks a server for the DID of a handle; null when there is none.
 *
 * @throws NetworkError when the server cannot resolve at the moment.
 */
export async function resolveHandle(server: ServerAccess, handle: string): Promise<string | null> {
  const method = 'com.atproto.identity.resolveHandle';
  const response = await xrpcQuery(server, method, { handle }, 'prepare');
  if (response.status === 429 || response.status >= 500) {
    throw refusal(response, 'prepare', []);
  }

  return (response.status === 200 && readDid(jsonOf(response))?.did) || null;
}

type XrpcError = { readonly error: string; readonly message?: string };

/** Reads the body of an error response. */
export const readXrpcError = answerReader<XrpcError>({
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, message: { type: 'string' } },
});

/** The XRPC name of an error, such as `ExpiredToken`; empty when the response has none. */
export const errorName = (response: EgressResponse): string =>
  readXrpcError(jsonOf(response))?.error ?? '';

/** Whether the server only wants another DPoP nonce (RFC 9449, section 9). */
export const wantsNonce = (response: EgressResponse): boolean =>
  response.status === 401 && errorName(response) === 'use_dpop_nonce';

/** Whether the server refused the DPoP proof and not the token: because of our clock, or of its own base URL. */
const isProofRefused = (response: EgressResponse): boolean =>
  response.status === 401 && ['use_dpop_nonce', 'invalid_dpop_proof'].includes(errorName(response));

/**
 * Whether the server refused the token, so that a new one can help. A PDS says so with 400, other servers with 401.
 * `AccountTakedown` and `AccountDeactivated` concern the account instead.
 */
export function isTokenRefused(response: EgressResponse): boolean {
  const name = errorName(response);
  return (
    (response.status === 401 && !name.startsWith('Account') && !isProofRefused(response)) ||
    (response.status === 400 && (name === 'ExpiredToken' || name === 'InvalidToken'))
  );
}

/**
 * Converts an error response to a NetworkError.
 *
 * @param secrets Must not appear in the message.
 * @param fileName The name of the uploaded file.
 */
export function refusal(
  response: EgressResponse,
  purpose: Purpose,
  secrets: readonly string[],
  fileName?: string,
): NetworkError {
  const { code, saying } = meaning(response, purpose, fileName);
  const error = readXrpcError(jsonOf(response));
  const serverMessage = quote(error?.message ?? error?.error, secrets);
  const message = `The Bluesky server ${saying} (HTTP ${response.status})`;
  const certainlyNot = response.status >= 300 && response.status < 500 && response.status !== 408;
  return new NetworkError(code, `${message}${serverMessage && `: ${serverMessage}`}.`, {
    accepted: acceptedAfter(purpose, certainlyNot),
    retryAtMs: retryAtMs(response, Date.now()),
    limit: limitIn(response),
    server: 'answered',
  });
}

/**
 * The scope of the limit that was met. A PDS counts all calls by the caller's address (3000 in 5 minutes), which all
 * our channels share; writes by account; and logins by both (30 in 5 minutes). The policy header tells them apart. A
 * response without it comes from a proxy before the PDS, and counts as a limit of the channel.
 *
 * Sources: `rate-limits.js` and `createSession.js` of @atproto/pds.
 */
function limitIn({ headers }: EgressResponse): LimitScope {
  const [, points, seconds] = /^(\d+);w=(\d+)$/.exec(headers['ratelimit-policy'] ?? '') ?? [];
  return seconds === '300' && Number(points) >= fewestByAddress ? 'server' : 'channel';
}

/** Far above the limit for logins and below the limit for all calls. */
const fewestByAddress = 1000;

/** For a success status with an unexpected body: the post may exist all the same. */
export const unreadable = (purpose: Purpose): NetworkError =>
  new NetworkError('network_unavailable', 'The Bluesky server returned an unexpected response.', {
    accepted: acceptedAfter(purpose, false),
    server: 'answered',
  });

/** Whether the account is inaccessible, because of its token or its own state. */
export const isAccessLost = (response: EgressResponse): boolean =>
  (response.status === 401 && !isProofRefused(response)) || isTokenRefused(response);

/** Whether an error concerns files: one differs from its record, or the embed of the record is wrong. */
function isAboutFiles(response: EgressResponse): boolean {
  const { error = '', message = '' } = readXrpcError(jsonOf(response)) ?? {};
  const said = message.toLowerCase();
  return (
    response.status === 400 &&
    (error === 'InvalidMimeType' ||
      error === 'InvalidSize' ||
      (said.includes('record') && said.includes('embed')))
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
      saying: "refused the DPoP proof of a request; check this machine's clock",
    };
  }
  if (status === 403) {
    return { code: 'permission_missing', saying: 'does not permit this' };
  }
  if (status === 429) {
    return { code: 'rate_limited', saying: limitReached[limitIn(response)] };
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
    saying: status >= 500 ? 'had an internal error' : 'does not support the request',
  };
}
