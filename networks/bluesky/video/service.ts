import type { EgressResponse } from '../../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs } from '../../answer.ts';
import { type Connection, NetworkError } from '../../network.ts';
import { tokenSchema } from '../../oauth/tokens.ts';
import { type NetworkRequest, sendRequest } from '../../send-request.ts';
import { query, refusal, unreadable } from '../client.ts';
import { describeServer } from '../describe-server.ts';
import { withSession } from '../session.ts';

/** Converts a video for Bluesky's apps, and puts the result on the account's server. */
export type VideoService = {
  readonly baseUrl: string;
  /** Lets the service put a file on the account's server. */
  readonly uploadToken: string;
};

const serviceName = "Bluesky's video service";
const bluesky = { baseUrl: 'https://video.bsky.app', did: 'did:web:video.bsky.app' };

const minute = 60;
/** For as long as the service may work on a video. A server gives none for more than an hour. */
const uploadTokenSeconds = 30 * minute;

/**
 * Opens the video service for an account.
 *
 * @returns null when its server or the service does not support this. Then the server takes the file itself.
 * @throws NetworkError `rate_limited` when the service takes no video of the account now, `media_refused` when it takes
 *   none at all, `access_lost`.
 */
export async function openVideoService(connection: Connection): Promise<VideoService | null> {
  try {
    const { did } = await describeServer(connection);
    // Bluesky's service cannot reach a server without TLS. The sandbox, which is such a server, plays the service too.
    const isOpen = connection.baseUrl.startsWith('http:');
    const service = isOpen ? { baseUrl: connection.baseUrl, did } : bluesky;
    const limits = await limitsOf(connection, service);
    if (!limits.canUpload) {
      throw refusedBy(limits.message ?? limits.error ?? '', 'takes no video of this account');
    }

    const uploadBlob = 'com.atproto.repo.uploadBlob';
    const uploadToken = await tokenFor(connection, did, uploadBlob, uploadTokenSeconds);
    return { baseUrl: service.baseUrl, uploadToken };
  } catch (error) {
    if (error instanceof NetworkError && takesNoPart(error) && !connection.signal.aborted) {
      return null;
    }

    throw error;
  }
}

const takesNoPart = ({ code }: NetworkError): boolean =>
  code === 'network_unavailable' || code === 'permission_missing';

type Limits = {
  readonly canUpload: boolean;
  readonly message?: string;
  readonly error?: string;
};

/** Of `app.bsky.video.getUploadLimits`. */
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
    throw refusedBy('', 'takes no more requests at the moment', response);
  }

  const limits = response.status === 200 ? readLimits(jsonOf(response)) : null;
  if (!limits) {
    throw unreadable('prepare');
  }
  return limits;
}

/** Of `com.atproto.server.getServiceAuth`. */
const readToken = answerReader<{ readonly token: string }>({
  type: 'object',
  required: ['token'],
  properties: { token: tokenSchema },
});

/** @param audience The DID of the server that the token is for. @param method That it is good for. */
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
    return query(connection, 'com.atproto.server.getServiceAuth', input, 'prepare', authorization);
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

/** Hands back refusals as they are. */
export const askService = (
  { http, signal }: Connection,
  { baseUrl, uploadToken }: VideoService,
  request: Pick<NetworkRequest, 'path' | 'file'>,
): Promise<EgressResponse> =>
  sendRequest(
    { http, baseUrl, signal },
    {
      method: request.file ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${uploadToken}` },
      purpose: 'upload',
      ...request,
    },
    serviceName,
  );

/** Waiting helps with the limits of a day, and not where the account may not upload any. */
const isForGood = /not allowed|not old enough|e-?mail/iv;
/** The service names no time at which its limits of a day end. */
const askAgainMs = 60 * 60_000;

/** @param words The service's own. @param response Of a refused request. */
export function refusedBy(words: string, saying: string, response?: EgressResponse): NetworkError {
  const said = quote(words.replaceAll('_', ' '), []);
  const message = `${serviceName} ${saying}${said && `: ${said}`}.`;
  if (isForGood.test(words)) {
    return new NetworkError('media_refused', message, { taken: 'no', server: 'answered' });
  }

  const nowMs = Date.now();
  return new NetworkError('rate_limited', message, {
    taken: 'no',
    retryAtMs: (response && retryAtMs(response, nowMs)) ?? nowMs + askAgainMs,
    server: 'answered',
  });
}
