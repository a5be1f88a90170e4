import { having, text } from '../../domain/json-schema.ts';
import type { LimitScope } from '../../domain/channel-error.ts';
import { forEachLimit } from '../../runtime/concurrency.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import {
  answersIn,
  refusedFile,
  refusedPost,
  unavailable,
  type Answer,
  type Dialect,
  type NamedRequest,
  type Refused,
} from '../client.ts';
import { sendNetworkRequest, type Purpose, type ServerAccess } from '../http.ts';
import { NetworkError, type Connection } from '../network.ts';

export const didSchema = {
  type: 'string',
  pattern: '^did:[a-z]+:[\\x21-\\x7e]+$',
  maxLength: 2048,
} as const;

export const cidSchema = { type: 'string', pattern: '^[a-z0-9]+$', maxLength: 255 } as const;

/** How a request proves which account it is for. */
export type Authorization = {
  readonly secret: string;
  readonly headersFor: (method: string, path: string) => Readonly<Record<string, string>>;
};

export const bearerAuthorization = (accessJwt: string): Authorization => ({
  secret: accessJwt,
  headersFor: () => ({ authorization: `Bearer ${accessJwt}` }),
});

export type BlueskyAnswer = Answer<XrpcError>;

async function send(
  server: ServerAccess,
  request: NamedRequest & { readonly secrets?: readonly string[] },
  authorization?: Authorization,
): Promise<BlueskyAnswer> {
  const headers = authorization?.headersFor(request.method, request.path) ?? {};
  const response = await sendNetworkRequest(server, { ...request, headers }, dialect.name);
  return answers.answerTo(server, { ...request, accessToken: authorization?.secret }, response);
}

/**
 * Calls an XRPC query; without an authorization it reads public data. Returns refusals as answers.
 *
 * @param parameters A list becomes one parameter per item.
 */
export const xrpcQuery = (
  server: ServerAccess,
  method: string,
  parameters: Readonly<Record<string, string | readonly string[]>>,
  purpose: Purpose,
  authorization?: Authorization,
): Promise<BlueskyAnswer> => {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    [value].flat().map((item): [string, string] => [name, item]),
  );
  const path = `/xrpc/${method}?${new URLSearchParams(pairs)}`;
  return send(server, { method: 'GET', path, purpose }, authorization);
};

export const xrpcProcedure = (
  server: ServerAccess,
  method: string,
  request: { readonly body: object; readonly purpose: Purpose; readonly secrets?: [string] },
  authorization?: Authorization,
): Promise<BlueskyAnswer> =>
  send(server, { method: 'POST', path: `/xrpc/${method}`, ...request }, authorization);

export const getSession = (
  server: ServerAccess,
  authorization: Authorization,
): Promise<BlueskyAnswer> =>
  xrpcQuery(server, 'com.atproto.server.getSession', {}, 'prepare', authorization);

export const uploadBlob = (
  server: ServerAccess,
  named: Pick<NamedRequest, 'file' | 'fileName'>,
  authorization: Authorization,
): Promise<BlueskyAnswer> => {
  const path = '/xrpc/com.atproto.repo.uploadBlob';
  return send(server, { method: 'POST', path, purpose: 'upload', ...named }, authorization);
};

const readDid = answerReader(having({ did: didSchema }));

/** Asks a server for the DID of a handle; null when there is none. */
export async function resolveHandle(server: ServerAccess, handle: string): Promise<string | null> {
  const method = 'com.atproto.identity.resolveHandle';
  const response = await xrpcQuery(server, method, { handle }, 'prepare');
  if (response.status === 429 || response.status >= 500) {
    throw response.refusal();
  }

  return (response.status === 200 && readDid(jsonOf(response))?.did) || null;
}

/** For all handles of an attempt: attempts share their server's slots and 256 connections. */
const [handlesWithinMs, handlesAtOnce] = [5000, 4];

/**
 * Resolves the handles of a post to DIDs. A slow handle does not count as a failure of the server.
 *
 * @param isLate Whether slow handles are left out, with a warning.
 * @throws NetworkError when some cannot be resolved now: a post is not edited later, so a mention that is left out is lost.
 */
export async function resolveHandles(connection: Connection, named: string[], isLate: boolean) {
  const handles = [...new Set(named)];
  const dids = new Map<string, string | null>();
  const deadline = AbortSignal.timeout(handlesWithinMs);
  const server = { ...connection, signal: AbortSignal.any([connection.signal, deadline]) };
  let failure: unknown = null;
  await forEachLimit(handles, handlesAtOnce, async (handle) => {
    try {
      dids.set(handle, failure === null ? await resolveHandle(server, handle) : null);
    } catch (error) {
      failure ??= deadline.aborted ? null : error;
    }
  });
  const slow = handles.filter((handle) => !dids.has(handle));
  const message = `The Bluesky server did not resolve @${slow.slice(0, 9).join(', @')} in time`;
  if (failure !== null || (slow.length > 0 && !isLate)) {
    throw failure ?? new NetworkError('network_unavailable', `${message}.`, { accepted: 'no' });
  }
  return { dids, slow: slow.length > 0 ? [`${message}: mentions without a link.`] : [] };
}

export const readXrpcError = answerReader(having({ error: text }, { message: text }));

type XrpcError = NonNullable<ReturnType<typeof readXrpcError>>;

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

/** Whether the account is inaccessible, because of its token or its own state. */
export const isAccessLost = (response: EgressResponse): boolean =>
  (response.status === 401 && !isProofRefused(response)) || isTokenRefused(response);

/** Whether an error concerns files: one differs from its record, or the embed of the record is wrong. */
function isAboutFiles({ said: { error = '', message = '' } }: Refused<XrpcError>): boolean {
  const words = message.toLowerCase();
  return (
    error === 'InvalidMimeType' ||
    error === 'InvalidSize' ||
    (words.includes('record') && words.includes('embed'))
  );
}

/**
 * The scope of the limit that was met. A PDS counts all calls by the caller's address (3000 in 5 minutes), which all
 * our channels share; writes by account; and logins by both (30 in 5 minutes). The policy header tells them apart. A
 * response without it comes from a proxy before the PDS, and counts as a limit of the channel.
 *
 * Sources: `rate-limits.js` and `createSession.js` of @atproto/pds.
 */
function limitIn({ response: { headers } }: Refused<XrpcError>): LimitScope {
  const [, points, seconds] = /^(\d+);w=(\d+)$/.exec(headers['ratelimit-policy'] ?? '') ?? [];
  return seconds === '300' && Number(points) >= fewestByAddress ? 'server' : 'channel';
}

/** Far above the limit for logins and below the limit for all calls. */
const fewestByAddress = 1000;

const dialect: Dialect<XrpcError> = {
  name: 'The Bluesky server',
  read: readXrpcError,
  wordsOf: ({ message, error }) => message ?? error,
  refusals: [
    {
      if: ({ response }) => isAccessLost(response),
      code: 'access_lost',
      saying: 'does not let this account in',
    },
    {
      if: ({ response }) => isProofRefused(response),
      code: 'internal',
      saying: "refused the DPoP proof of a request; check this machine's clock",
    },
    { status: 403, code: 'permission_missing', saying: 'does not permit this' },
    { status: 429, code: 'rate_limited', limit: limitIn },
    { status: [400, 409, 413, 415, 422], on: 'upload', ...refusedFile },
    {
      status: 400,
      on: 'create',
      if: isAboutFiles,
      code: 'media_refused',
      saying: 'refused a file of the post',
    },
    { status: [400, 409, 413, 422], on: 'create', ...refusedPost },
    unavailable('had an internal error', 'does not support the request'),
  ],
};

const answers = answersIn(dialect);

export const { refusal, unreadable } = answers;
