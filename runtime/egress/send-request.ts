import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Agent, Dispatcher } from 'undici';
import { createGrowingBuffer } from '../bytes.ts';
import type { KeyedSemaphore } from '../concurrency.ts';
import { blocked, type EgressRequest, type EgressResponse } from './egress.ts';
import { acquireSlot, requestHeaders, startDeadline, streamExchange } from './exchange.ts';
import { markOwn, parseUrl, targetProblem, type OperatorLists, type ParsedUrl } from './target.ts';

type Transport = OperatorLists & {
  readonly agent: Agent;
  /** Keyed by origin. */
  readonly slots: KeyedSemaphore;
  readonly ownUrl?: string;
};

/** Sends one request and reads its whole response, as `Egress` describes. */
export async function sendRequest(
  request: EgressRequest,
  { agent, slots, ...guard }: Transport,
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
  const { signal, stop } = startDeadline(request.timeoutMs, request.signal);
  try {
    const onFreed = await acquireSlot(slots, url.origin, signal);
    const { maxBytes, timeoutMs: stallMs, mayStart } = request;
    const limits = { maxBytes: Infinity, stallMs, mayStart, signal, onFreed };
    const { body: answer, ...head } = await streamExchange(agent, options, limits);
    return { ...head, ...(await beginningOf(answer, maxBytes)) };
  } finally {
    stop();
    body.discard();
  }
}

/**
 * Reads the beginning of a response's body. Once the status line has arrived, the request succeeds: more bytes, the
 * signal or a break only truncate the body. So do very many tiny chunks, which iterating the body would join.
 */
async function beginningOf(
  body: Readable,
  maxBytes: number,
): Promise<Pick<EgressResponse, 'body' | 'truncated'>> {
  const kept = createGrowingBuffer();
  // Undici may have closed the body already, after an invalid chunk that came with the head.
  const closed = finished(body).catch(() => undefined);
  let isCut = false;
  body.on('data', (chunk: Buffer) => {
    const piece = chunk.subarray(0, maxBytes - kept.length);
    kept.append(piece);
    isCut ||= piece.length < chunk.length || kept.isFragmented;
    if (isCut) {
      body.destroy();
    }
  });
  await closed;
  return { body: kept.bytes(), truncated: isCut || !body.readableEnded };
}

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
