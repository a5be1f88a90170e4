import {
  FetchResponseError,
  OAuthResolverError,
  OAuthResponseError,
} from '@atproto/oauth-client-node';
import {
  type EgressRequest,
  type Egress,
  EgressError,
  type EgressResponse,
} from '../../../runtime/egress/egress.ts';
import { quote, retryAtMs } from '../../answer.ts';
import type { ChannelErrorCode } from '../../../domain/channel-error.ts';
import { NetworkError, type NetworkErrorOptions } from '../../network.ts';
import { OauthError, type OauthErrorCode } from '../../oauth/contract.ts';

const timeoutMs = 20_000;

/** In bytes. Documents and tokens are a few kilobytes. */
const maxBytes = 32 * 1024;
/** A PDS's documents have under 100. The library collects every fault of a document, in quadratic time. */
const maxValues = 300;

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * The `fetch` that the OAuth library uses. It follows no redirect, and the egress guard decides about plain http.
 *
 * @param sent Collects the secrets of each request, which must not appear in messages.
 * @param signal Aborts reads only. A token request is never aborted, because its response may hold the only refresh
 *   token.
 */
export const egressFetch =
  (http: Egress, sent: Set<string>, signal?: AbortSignal): Fetch =>
  async (input, init) => {
    const request = new Request(input, init);
    const reads = request.method === 'GET';
    const text = request.body && (await request.text());
    noteSecrets(sent, request.headers, text);
    const signals = [request.signal, ...(signal ? [signal] : [])];
    const response = await http.request({
      method: request.method as EgressRequest['method'],
      url: request.url,
      headers: { ...Object.fromEntries(request.headers), 'user-agent': 'Punctual' },
      ...(text && { body: text }),
      timeoutMs,
      maxBytes,
      ...(reads && { signal: AbortSignal.any(signals) }),
    });
    const { status, headers, body, truncated } = response;
    if (truncated || status > 599 || (status < 400 && mostValuesIn(body) > maxValues)) {
      throw new TypeError('The server returned an unexpected response.');
    }

    const isBare = [204, 205, 304].includes(status);
    return new Response(isBare ? null : new Uint8Array(body), { status, headers });
  };

/** Each value of a JSON text but the outermost follows a comma or a bracket, or the name of a field that does. */
const mostValuesIn = (json: Buffer): number => json.toString('latin1').split(/[,\[\{]/v).length;

/** Secret fields in the forms that an authorization server accepts. */
const secretFields = ['code', 'code_verifier', 'refresh_token', 'client_assertion', 'token'];

function noteSecrets(sent: Set<string>, headers: Headers, text: string | null): void {
  const form = new URLSearchParams(text ?? '');
  const found = [
    ...secretFields.map((name) => form.get(name)),
    headers.get('dpop'),
    headers.get('authorization')?.replace(/^\S+ /v, ''),
  ];
  for (const secret of found) {
    if (secret) {
      sent.add(secret);
    }
  }
}

/** Finds an error of a type in the chain of causes. */
function find<T>(error: unknown, type: abstract new (...args: never) => T): T | undefined {
  for (let next = error; next instanceof Error; next = next.cause) {
    if (next instanceof type) {
      return next;
    }
  }

  return undefined;
}

/** The authorization server's refusal, if that caused the error. */
const refusalIn = (error: unknown): OAuthResponseError | undefined =>
  find(error, OAuthResponseError);

/** Whether a server did not answer, or is temporarily unavailable. */
export function isAway(error: unknown): boolean {
  const status = refusalIn(error)?.status ?? find(error, FetchResponseError)?.response.status ?? 0;
  const noAnswer = find(error, EgressError) ?? find(error, NetworkError);
  return noAnswer !== undefined || status === 429 || status >= 500;
}

const aboutUs: ReadonlySet<unknown> = new Set([
  'invalid_client',
  'invalid_client_id',
  'invalid_client_metadata',
  'invalid_redirect_uri',
  'invalid_scope',
  'unauthorized_client',
]);

/** Secrets of the requests, which must not appear in messages. */
type Sent = ReadonlySet<string>;

/** The server's message, in quotation marks and after a colon; empty when there is none. */
function serverMessageOf(refusal: OAuthResponseError | undefined, sent: Sent): string {
  const serverMessage = quote(refusal?.errorDescription ?? refusal?.error, [...sent]);
  return serverMessage && `: ${serverMessage}`;
}

export function connectionError(error: unknown, sent: Sent): OauthError {
  if (error instanceof OauthError) {
    return error;
  }

  const refusal = refusalIn(error);
  const words = serverMessageOf(refusal, sent);
  const egressError = find(error, EgressError);
  const failed = (code: OauthErrorCode, message: string) =>
    new OauthError(code, message, { cause: error });
  if (egressError?.code === 'blocked_destination') {
    return failed('unsupported', `This Bluesky server cannot be reached. ${egressError.message}`);
  }
  if (isAway(error)) {
    const message = 'The Bluesky server does not answer at the moment. Try again in a few minutes.';
    return failed('unavailable', message);
  }
  if (refusal?.error === 'invalid_grant') {
    const message = 'The response of the Bluesky server came too late, or was already used.';
    return failed('expired', message);
  }
  if (refusal && aboutUs.has(refusal.error)) {
    return failed('misconfigured', `${notRegistered}${words}.`);
  }
  if (find(error, OAuthResolverError)) {
    const message =
      'This Bluesky server does not support connecting accounts in a browser. Connect it with an app password.';
    return failed('unsupported', message);
  }

  return failed('unavailable', `The Bluesky server returned an unexpected response${words}.`);
}

const notRegistered = "The Bluesky server does not accept this service's registration";

export function refreshError(error: unknown, sent: Sent, now: Date): NetworkError {
  const refusal = refusalIn(error);
  const words = serverMessageOf(refusal, sent);
  const failed = (code: ChannelErrorCode, message: string, more?: Partial<NetworkErrorOptions>) =>
    new NetworkError(code, message, { accepted: 'no', cause: error, ...more });
  if (refusal?.status === 400 && refusal.error === 'invalid_grant') {
    return failed('access_lost', `The Bluesky server ended the access${words}.`);
  }
  if (error instanceof TypeError && error.message === 'Issuer mismatch') {
    const message =
      'The account has moved to another Bluesky server, where this service has no access.';
    return failed('access_lost', message);
  }
  if (refusal?.status === 429) {
    return failed('rate_limited', 'The Bluesky server takes no more requests for now.', {
      retryAtMs: retryAtMs(answerOf(refusal), now.getTime()),
      limit: 'server',
      server: 'answered',
    });
  }
  if (refusal && aboutUs.has(refusal.error)) {
    return failed('internal', `${notRegistered}${words}.`);
  }

  const message = refusal
    ? `The Bluesky server did not renew the access (HTTP ${refusal.status})${words}.`
    : 'The Bluesky server, or the directory of accounts, did not answer when the access was renewed.';
  return failed('network_unavailable', message, refusal && { server: 'answered' });
}

const answerOf = ({ status, headers }: OAuthResponseError): EgressResponse => ({
  status,
  headers: Object.fromEntries(headers),
  body: Buffer.alloc(0),
  truncated: false,
});
