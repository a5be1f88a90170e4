import type { Readable } from 'node:stream';
import type { EgressRequest } from './egress.ts';

type Body = {
  readonly content: string | Uint8Array | Readable | null;
  /** What a stream does not tell by itself. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends a stream that was not read to its end; a file stays open otherwise. */
  discard(): void;
};

/** What a request sends, in undici's terms. */
export function bodyOf({ body }: EgressRequest): Body {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    return { content: body ?? null, headers: {}, discard: () => undefined };
  }

  const { stream, sizeBytes } = body;
  // It may fail while nobody reads it (yet, or any more). Whoever reads it hears of it all the same.
  stream.on('error', () => {});
  return {
    content: stream,
    headers: { 'content-length': String(sizeBytes) },
    discard: () => stream.destroy(),
  };
}
