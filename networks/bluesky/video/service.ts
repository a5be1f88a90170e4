import type { EgressResponse } from '../../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs } from '../../answer.ts';
import { type Connection, NetworkError } from '../../network.ts';
import { tokenSchema } from '../../oauth/tokens.ts';
import { type NetworkRequest, sendNetworkRequest } from '../../send-network-request.ts';
import { xrpcQuery, refusal, unreadable } from '../client.ts';
import { describeServer } from '../describe-server.ts';
import { withSession } from '../session.ts';

/** Converts videos for Bluesky's apps, and stores the result on the account's server. */
export type VideoService = {
  readonly baseUrl: string;
  /** Allows the service to store a file on the account's server. */
  readonly uploadToken: string;
};

const serviceName = "Bluesky's video service";
const bluesky = { baseUrl: 'https://video.bsky.app', did: 'did:web:video.bsky.app' };

const minute = 60;
/** Covers the time that the service may need. Servers grant at most an hour. */
const uploadTokenSeconds = 30 * minute;

/**
 * Opens the video service for an account.
 *
 * @returns null when the account's server or the service does not support this. The file is then uploaded to the
 * server.
 * @throws NetworkError `rate_limited` when the service takes no video of the account at the moment, `media_refused`
 *   when it takes none at all, `access_lost`.
 */
export async function openVideoService(connection: Connection): Promise<VideoService | null> {
  try {
    const { did } = await describeServer(connection);
    // Bluesky's service cannot reach a server without TLS. The sandbox, which has no TLS, provides the service too.
    const isOpen = connection.baseUrl.startsWith('http:');
    const service = isOpen ? { baseUrl: connection.baseUrl, did } : bluesky;
    const limits = await limitsOf(connection, service);
    if (!limits.canUpload) {
      throw refusedBy(limits.message ?? limits.error ?? '', 'accepts no video of this account');
    }

    const uploadBlob = 'com.atproto.repo.uploadBlob';
    const uploadToken = await tokenFor(connection, did, uploadBlob, uploadTokenSeconds);
    return { baseUrl: service.baseUrl, uploadToken };
  } catch (error) {
    if (error instanceof NetworkError && isOptionalFailure(error) && !connection.signal.aborted) {
      return null;
    }

    throw error;
  }
}

const isOptionalFailure = ({ code }: NetworkError): boolean =>
  code === 'network_unavailable' || code === 'permission_missing';

type Limits = {
  readonly canUpload: boolean;
  readonly message?: string;
  readonly error?: string;
};

/** Reads the response of `app.bsky.video.getUploadLimits`. */
const readLimits = answerReader<Limits>({
  type: 'object',
  required: ['canUpload'],
  properties: {
    canUpload: { type: 'boolean' },
    message: { type: 'string' },
    error: { type: 'string' },
  },
});

async function limitsOf(
  connection: Connection,
  { baseUrl, did }: { readonly baseUrl: string; readonly did: string },
): Promise<Limits> {
  const method = 'app.bsky.video.getUploadLimits';
  const token = await tokenFor(connection, did, method, minute);
  const path = `/xrpc/${method}`;
  const response = await askService(connection, { baseUrl, uploadToken: token }, { path });
  if (response.status === 429) {
    throw refusedBy('', 'accepts no more requests at the moment', response);
  }

  const limits = response.status === 200 ? readLimits(jsonOf(response)) : null;
  if (!limits) {
    throw unreadable('prepare');
  }
  return limits;
}

/** Reads the response of `com.atproto.server.getServiceAuth`. */
const readToken = answerReader<{ readonly token: string }>({
  type: 'object',
  required: ['token'],
  properties: { token: tokenSchema },
});

/** @param audience The DID of the server that accepts the token. @param method The only method that it allows. */
async function tokenFor(
  connection: Connection,
  audience: string,
  method: string,
  seconds: number,
): Promise<string> {
  let secret = '';
  const exp = Math.floor(Date.now() / 1000) + seconds;
  const response = await withSession(connection, (authorization) => {
    ({ secret } = authorization);
    const input = { aud: audience, lxm: method, exp: String(exp) };
    return xrpcQuery(
      connection,
      'com.atproto.server.getServiceAuth',
      input,
      'prepare',
      authorization,
    );
  });
  if (response.status !== 200) {
    throw refusal(response, 'prepare', [secret]);
  }

  const given = readToken(jsonOf(response));
  if (!given) {
    throw unreadable('prepare');
  }
  return given.token;
}

/** Returns refusals as responses. */
export const askService = (
  { http, signal }: Connection,
  { baseUrl, uploadToken }: VideoService,
  request: Pick<NetworkRequest, 'path' | 'file'>,
): Promise<EgressResponse> =>
  sendNetworkRequest(
    { http, baseUrl, signal },
    {
      method: request.file ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${uploadToken}` },
      purpose: 'upload',
      ...request,
    },
    serviceName,
  );

/** Errors that last. All others are daily limits, which end. */
const permanentRefusal = /not allowed|not old enough|e-?mail/iv;
/** The service does not say when its daily limits end. */
const limitRetryMs = 60 * 60_000;

/** @param serverMessage The service's message. @param response The refused request's response. */
export function refusedBy(
  serverMessage: string,
  saying: string,
  response?: EgressResponse,
): NetworkError {
  const quoted = quote(serverMessage.replaceAll('_', ' '), []);
  const message = `${serviceName} ${saying}${quoted && `: ${quoted}`}.`;
  if (permanentRefusal.test(serverMessage)) {
    return new NetworkError('media_refused', message, { accepted: 'no', server: 'answered' });
  }

  const nowMs = Date.now();
  return new NetworkError('rate_limited', message, {
    accepted: 'no',
    retryAtMs: (response && retryAtMs(response, nowMs)) ?? nowMs + limitRetryMs,
    server: 'answered',
  });
}
