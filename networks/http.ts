import { AppError } from '../domain/errors.ts';
import {
  EgressError,
  type Egress,
  type EgressErrorCode,
  type EgressResponse,
  type StreamedBody,
} from '../runtime/egress/egress.ts';
import { inTurn } from './in-turn.ts';
import { NetworkError } from './network.ts';

/** Limit for a whole request. Longer than any answer from a healthy server, shorter than an attempt. */
export const timeoutMs = 30_000;
/** Limit for a request with a file. Shorter than an attempt; at 10 Mbit/s, 200 MB take 160 s. */
const uploadTimeoutMs = 200_000;
/** A page of 40 long statuses has about 300 kB. What is read of accounts and servers is far smaller. */
const maxBytes = 2 * 1024 * 1024;
const maxPreparing = 512 * 1024;
/** In bytes. Parsing and comparing 2 MB takes up to 0.1 s, so longer answers than this are read in turn. */
const longAnswer = 64 * 1024;

/**
 * The purpose of a request, which decides what its failure says about the post:
 *
 * - `prepare`: nothing was sent yet, so the network certainly has no post.
 * - `upload`: transfers a file before the post is sent, so the same holds.
 * - `create`: creates the post, so only a refusal is certain.
 * - `reconcile`: a post was sent before; a failed reconcile leaves its outcome open.
 * - `remove`: deletes a live post, which can be repeated.
 */
export type Purpose = 'prepare' | 'upload' | 'create' | 'reconcile' | 'remove';

export type ServerAccess = {
  readonly http: Egress;
  readonly baseUrl: string;
  /** The long answers of a workspace are read in turn. Absent while an account is being connected. */
  readonly workspaceId?: string | undefined;
  readonly now?: () => Date;
  readonly signal?: AbortSignal;
  readonly stopping?: AbortSignal | undefined;
  readonly mayCreate?: () => boolean;
};

export type NetworkRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path below the base URL, with its query; or a whole URL, where the network gave one for an upload. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Sent instead of `body`, like an HTML form. */
  readonly form?: URLSearchParams;
  readonly file?: { readonly type: string; readonly body: StreamedBody };
  readonly purpose: Purpose;
  /** Limit of the answer, if lower than usual. */
  readonly maxBytes?: number;
};

/**
 * Sends one request to a network and returns its response, including refusals.
 *
 * @param name The server's name for messages: `The Mastodon server`.
 * @throws NetworkError `network_unavailable` when no response came; the error of reading the file, if that failed.
 */
export async function sendNetworkRequest(
  server: ServerAccess,
  request: NetworkRequest,
  name: string,
): Promise<EgressResponse> {
  const { method, path, headers, file, purpose } = request;
  const content = file ?? textOf(request);
  // A look-up only reads, so it need not delay the end of the process: the next attempt repeats it.
  const ends = [server.signal, purpose === 'reconcile' ? server.stopping : undefined].filter(
    (end) => end !== undefined,
  );
  try {
    const response = await server.http.request({
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
      maxBytes: request.maxBytes ?? (purpose === 'prepare' ? maxPreparing : maxBytes),
      ...(ends.length > 0 && { signal: ends.length > 1 ? AbortSignal.any(ends) : ends[0] }),
      ...(purpose === 'create' && server.mayCreate ? { mayStart: server.mayCreate } : {}),
    });
    if (response.body.length > longAnswer) {
      const { workspaceId = server.baseUrl } = server;
      // The caller reads it before the next turn begins. No signal ends the wait, because the answer may have the post.
      await inTurn({ workspaceId, signal: AbortSignal.any([]) }, () => undefined);
    }
    return response;
  } catch (error) {
    if (error instanceof EgressError && error.cause instanceof NetworkError) {
      throw error.cause; // The file could not be read to its end.
    }

    const certain = error instanceof EgressError && !error.maybeSent;
    const why = error instanceof EgressError ? reasons[error.code] : 'did not complete the request';
    const isBlocked = error instanceof EgressError && error.code === 'blocked_destination';
    const message = `${name} ${why}.${isBlocked ? ` ${error.message}` : ''}`;
    throw new NetworkError('network_unavailable', message, {
      accepted: acceptedAfter(purpose, certain),
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

/** A blocked address and a response that is not HTTP say nothing about the server's availability. */
const isAway = (error: unknown): boolean =>
  error instanceof EgressError &&
  error.code !== 'blocked_destination' &&
  error.code !== 'invalid_response';

/** @param certainlyNot Whether the failure proves that this request created no post. */
export function acceptedAfter(purpose: Purpose, certainlyNot: boolean): 'no' | 'unknown' {
  if (purpose === 'prepare' || purpose === 'upload') {
    return 'no';
  }

  return purpose === 'create' && certainlyNot ? 'no' : 'unknown';
}

const reasons: Readonly<Record<EgressErrorCode, string>> = {
  blocked_destination: 'has an address that this service may not reach',
  dns_error: 'has a name that does not resolve',
  connection_refused: 'refused the connection',
  connection_reset: 'closed the connection',
  timeout: 'did not answer in time',
  tls_error: 'could not prove its identity (TLS)',
  certificate_expired: 'has an expired certificate',
  invalid_response: 'sent an invalid HTTP response',
};

/**
 * The base URL of a server from a person's input: `mastodon.example` and `https://mastodon.example/` are the same.
 * @throws AppError `invalid_request` for anything but a web server's URL without query and credentials. The message
 *   does not repeat the input, which may contain a password.
 */
export function baseUrlOf(address: string): string {
  const withScheme = /^https?:\/\//i.test(address) ? address : `https://${address}`;
  const url = URL.parse(withScheme);
  if (!url || url.search || url.hash || url.username || url.password) {
    const message = 'Not the address of a server, such as https://a.example.';
    throw new AppError('invalid_request', message);
  }

  return url.origin + url.pathname.replace(/(?<!\/)\/+$/, '');
}
