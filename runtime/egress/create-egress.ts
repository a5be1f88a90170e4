import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Agent, type Dispatcher } from 'undici';
import { createGrowingBuffer, headerText } from '../bytes.ts';
import { connectToFirst, guardConnector, type ConnectTo } from './connector.ts';
import { createResolver, type Resolve } from './destination.ts';
import {
  blocked,
  BodyTooLargeError,
  EgressError,
  maxHeaderBytes,
  type Download,
  type Downloader,
  type DownloadRequest,
  type Egress,
  type EgressRequest,
  type EgressResponse,
} from './egress.ts';
import { requestHeaders, startDeadline, streamExchange } from './exchange.ts';
import { markOwn, parseUrl, targetProblem, type OperatorLists, type ParsedUrl } from './target.ts';

export type EgressOptions = OperatorLists & {
  /** The public URL of this service, for requests that must not lead back to it. */
  readonly ownUrl?: string;
  /** For tests; defaults to DNS. */
  readonly resolve?: Resolve;
  /** For tests that count connections. Gets checked addresses only. */
  readonly connectTo?: ConnectTo;
  /** For tests: the only CA to trust, in PEM. */
  readonly ca?: string;
};

/**
 * Sends every request to a user-chosen address (see `Egress` and `Downloader`). Ignores proxies of the environment.
 *
 * When the caller's signal aborts, a request fails with `timeout`, the signal's reason as cause and an accurate
 * `maybeSent`. A status that has already arrived is still returned.
 */
export function createEgress(options: EgressOptions): Egress & Downloader {
  const agent = createAgent(options);
  const inFlight = new Set<Promise<unknown>>();
  const track = async <T>(work: Promise<T>): Promise<T> => {
    inFlight.add(work);
    try {
      return await work;
    } finally {
      inFlight.delete(work);
    }
  };

  return {
    request: (request) => track(sendRequest(agent, request, options)),
    async download(request) {
      const found = await track(download(agent, request));
      void track(endOf(found.body));
      return found;
    },
    async close() {
      while (inFlight.size > 0) {
        await Promise.allSettled(inFlight);
      }

      await agent.destroy();
    },
  };
}

/** More than a worker's 200 deliveries at a time, so that a hung endpoint does not block others on its host. */
const maxPerOrigin = 256;

/** Whatever the receiver's keep-alive says: the address was checked only once. */
const idleMs = 4000;

function createAgent(options: EgressOptions): Agent {
  const { resolve = createResolver(), connectTo = connectToFirst(options.ca) } = options;
  return new Agent({
    connect: guardConnector({ ...options, resolve }, connectTo),
    allowH2: false,
    connections: maxPerOrigin,
    pipelining: 1,
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    // Without it, a busy connection would outlive every change of the name's addresses.
    clientTtl: 60_000,
    // Each request has its own deadline instead.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** Sends one request and reads its whole response, as `Egress` describes. */
async function sendRequest(
  agent: Agent,
  request: EgressRequest,
  guard: OperatorLists & { readonly ownUrl?: string },
): Promise<EgressResponse> {
  const body = bodyOf(request);
  const url = parseRequestUrl(request, guard);
  if ('refusal' in url) {
    body.discard();
    throw blocked(url.refusal);
  }

  const options: Dispatcher.DispatchOptions = {
    origin: url.origin,
    path: url.path,
    method: request.method,
    headers: { ...requestHeaders(request.headers), ...body.headers },
    body: body.content,
  };
  const { signal, stop } = startDeadline(request);
  try {
    const { maxBytes, timeoutMs: stallMs, mayStart } = request;
    const limits = { maxBytes: Infinity, stallMs, mayStart, signal };
    const { body: answer, ...head } = await streamExchange(agent, options, limits);
    return { ...head, ...(await beginningOf(answer, maxBytes)) };
  } finally {
    stop();
    body.discard();
  }
}

/**
 * Reads the beginning of a response's body. Once the status line has arrived, the request succeeds: more bytes, the
 * signal or a break only truncate the body.
 */
async function beginningOf(
  body: Readable,
  maxBytes: number,
): Promise<Pick<EgressResponse, 'body' | 'truncated'>> {
  const kept = createGrowingBuffer();
  // Undici may have closed the body already, after an invalid chunk that came with the head.
  const closed = endOf(body);
  let isCut = false;
  body.on('data', (chunk: Buffer) => {
    const piece = chunk.subarray(0, maxBytes - kept.length);
    kept.append(piece);
    isCut ||= piece.length < chunk.length;
    if (isCut) {
      body.destroy();
    }
  });
  await closed;
  return { body: kept.bytes(), truncated: isCut || !body.readableEnded };
}

/** Also resolves when the body breaks off. */
const endOf = (body: Readable): Promise<void> =>
  finished(body, { writable: false }).catch(() => undefined);

type Body = {
  readonly content: string | Uint8Array | Readable | null;
  /** The length, which a stream does not carry. */
  readonly headers: Readonly<Record<string, string>>;
  /** Destroys a stream that was not read to its end; otherwise its file stays open. */
  discard(): void;
};

/** Converts the body to undici's terms. */
function bodyOf({ body }: EgressRequest): Body {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    return { content: body ?? null, headers: {}, discard: () => undefined };
  }

  const { stream, sizeBytes } = body;
  // It may fail while nothing reads it. Its reader still gets the error.
  stream.on('error', () => {});
  return {
    content: stream,
    headers: { 'content-length': String(sizeBytes) },
    discard: () => stream.destroy(),
  };
}

/** Parses a request's URL. With `notToSelf`, refuses the URL of this service. */
function parseRequestUrl(
  { url, notToSelf }: Pick<EgressRequest, 'url' | 'notToSelf'>,
  { ownUrl, ...lists }: OperatorLists & { readonly ownUrl?: string },
): ParsedUrl {
  const parsed = parseUrl(url);
  if (!notToSelf || 'refusal' in parsed) {
    return parsed;
  }

  const refusal = targetProblem(markOwn(parsed.target, ownUrl), lists);
  return refusal === null ? parsed : { refusal };
}

/** Follows redirects, which links to pictures often need. The guard checks every hop when it connects. */
async function download(agent: Agent, request: DownloadRequest): Promise<Download> {
  const { maxBytes, maxRedirects } = request;
  const { signal, stop } = startDeadline(request);
  try {
    let url = request.url;
    for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
      const answer = await hop(agent, url, { ...request, signal });
      const next = redirectOf(answer, url);
      const isTooLarge = isSuccess(answer) && Number(answer.headers['content-length']) > maxBytes;
      if (next === undefined && !isTooLarge) {
        void endOf(answer.body).finally(stop);
        return { ...answer, url };
      }

      answer.body.destroy();
      if (next === undefined) {
        throw new BodyTooLargeError(maxBytes);
      }

      url = next;
    }

    const tooMany = `It redirects more than ${maxRedirects} times.`;
    throw new EgressError('invalid_response', tooMany, { maybeSent: true });
  } catch (error) {
    stop();
    throw error;
  }
}

type Hop = Omit<Download, 'url'>;

function hop(
  agent: Agent,
  url: string,
  { signal, ...request }: DownloadRequest & { readonly signal: AbortSignal },
): Promise<Hop> {
  const parsed = parseUrl(url);
  if ('refusal' in parsed) {
    throw blocked(parsed.refusal);
  }

  const { origin, path } = parsed;
  const headers = requestHeaders(request.headers);
  // Each has its own connection, because a connection may carry only `mostRead`.
  const options = { origin, path, method: 'GET', headers, reset: true } as const;
  return streamExchange(agent, options, { ...request, signal });
}

const isSuccess = ({ status }: Hop): boolean => status >= 200 && status < 300;

/** Returns the redirect's target, or undefined. @throws EgressError for an invalid URL. */
function redirectOf({ status, headers }: Hop, from: string): string | undefined {
  const location = headers['location'];
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) {
    return undefined;
  }

  const next = URL.parse(headerText(location), from);
  if (!next) {
    throw blocked('It redirects to an address that is not valid.');
  }

  return next.href;
}
