import { AppError } from '../domain/errors.ts';
import { EgressError, type EgressErrorCode } from '../runtime/egress/egress-error.ts';
import type { Egress, EgressResponse, StreamedBody } from '../runtime/egress/egress.ts';
import { NetworkError } from './network.ts';

/** Over the whole request. Longer than any answer seen from a healthy server, shorter than a try. */
export const timeoutMs = 30_000;
/** For a request that brings a file. Shorter than a try; at 10 Mbit/s, 200 MB take 160 s. */
const uploadTimeoutMs = 200_000;
/** A page of 40 long statuses is about 300 kB. */
const maxBytes = 2 * 1024 * 1024;

/**
 * What a request is for. It decides what a failure says about the post:
 *
 * - `prepare`: nothing was sent yet, so the network certainly has no post.
 * - `upload`: brings a file for a post that is still to be sent, so the same holds.
 * - `create`: the request makes the post, so only a refusal is certain.
 * - `reconcile`: a post was sent before, and a look-up that fails leaves that as open as it was.
 */
export type Purpose = 'prepare' | 'upload' | 'create' | 'reconcile';

/** A server, and how requests reach it: the part of a connection that a request needs. */
export type ServerAccess = {
  readonly http: Egress;
  readonly baseUrl: string;
  readonly signal?: AbortSignal;
  readonly mayCreate?: () => boolean;
};

export type NetworkRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** From the base URL on, with its query; or the whole address, where the network gave one for an upload. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent in its place, as HTML forms are. */
  readonly form?: URLSearchParams;
  /** Sent in its place. */
  readonly file?: { readonly type: string; readonly body: StreamedBody };
  readonly purpose: Purpose;
};

/**
 * Sends one request to a network and hands back whatever it answered, refusals included.
 *
 * @param name How the user knows the server: `The Mastodon server`.
 * @throws NetworkError `network_unavailable` when no answer came; what kept the file from being read, if that was it.
 */
export async function sendRequest(
  server: ServerAccess,
  request: NetworkRequest,
  name: string,
): Promise<EgressResponse> {
  const { method, path, headers, file, purpose } = request;
  const content = file ?? textOf(request);
  try {
    return await server.http.request({
      method,
      url: /^https?:/iv.test(path) ? path : `${server.baseUrl}${path}`,
      headers: {
        accept: 'application/json',
        'user-agent': 'Punctual',
        ...(content.body === undefined ? {} : { 'content-type': content.type }),
        ...headers,
      },
      ...(content.body === undefined ? {} : { body: content.body }),
      timeoutMs: file ? uploadTimeoutMs : timeoutMs,
      maxBytes,
      ...(server.signal ? { signal: server.signal } : {}),
      ...(purpose === 'create' && server.mayCreate ? { mayStart: server.mayCreate } : {}),
    });
  } catch (error) {
    if (error instanceof EgressError && error.cause instanceof NetworkError) {
      throw error.cause; // The file could not be read to its end.
    }

    const certain = error instanceof EgressError && !error.maybeSent;
    const why = error instanceof EgressError ? reasons[error.code] : 'was given up on';
    throw new NetworkError('network_unavailable', `${name} ${why}.`, {
      taken: takenAfter(purpose, certain),
      ...(isAway(error) && { server: 'unreachable' }),
      cause: error,
    });
  }
}

function textOf({ form, body }: NetworkRequest) {
  return form
    ? { type: 'application/x-www-form-urlencoded', body: form.toString() }
    : {
        type: 'application/json',
        body: body === undefined ? undefined : JSON.stringify(body),
      };
}

/** A blocked address and an answer that is no HTTP come at once: such a server is not away. */
const isAway = (error: unknown): boolean =>
  error instanceof EgressError &&
  error.code !== 'blocked_destination' &&
  error.code !== 'invalid_response';

/** What a failure says about the post, given whether it proves that this request made none. */
export function takenAfter(purpose: Purpose, certainlyNot: boolean): 'no' | 'unknown' {
  if (purpose === 'prepare' || purpose === 'upload') {
    return 'no';
  }

  return purpose === 'create' && certainlyNot ? 'no' : 'unknown';
}

const reasons: Readonly<Record<EgressErrorCode, string>> = {
  blocked_destination: 'has an address that this service may not reach',
  dns_error: 'has a name that does not resolve',
  connection_refused: 'refused the connection',
  connection_reset: 'broke the connection off',
  timeout: 'did not answer in time',
  tls_error: 'could not prove its identity (TLS)',
  invalid_response: 'gave an answer that is no HTTP',
};

/**
 * The address of a server, as people write it: `mastodon.example` and `https://mastodon.example/` are the same.
 *
 * @returns The origin and the path, without a trailing slash.
 * @throws AppError `invalid_request` when it is no address of a web server, or has a query or a password in it. Its
 *   message does not repeat the address, because of the password.
 */
export function baseUrlOf(address: string): string {
  const withScheme = /^https?:\/\//i.test(address) ? address : `https://${address}`;
  const url = URL.parse(withScheme);
  if (!url || url.search || url.hash || url.username || url.password) {
    throw new AppError(
      'invalid_request',
      'Not the address of a server, such as https://a.example.',
    );
  }

  return url.origin + url.pathname.replace(/\/+$/, '');
}
