import type { Readable } from 'node:stream';
import { createBrotliDecompress, createUnzip, type BrotliDecompress, type Unzip } from 'node:zlib';
import type { Context } from 'koa';
import { AppError } from '../../domain/errors.ts';

/** Unpacked. */
const maxBytes = 1024 * 1024;

/**
 * How many times its packed size a body may have, once it is larger than the second, in bytes. Texts that people write
 * pack to a third; what packs to a hundredth is made to fill memory.
 */
const [mostTimes, alwaysBytes] = [100, 64 * 1024];

type Unpacker = BrotliDecompress | Unzip;

/** By Content-Encoding. */
const unpackers: ReadonlyMap<string, () => Unpacker> = new Map<string, () => Unpacker>([
  ['gzip', createUnzip],
  ['deflate', createUnzip],
  ['br', createBrotliDecompress],
]);

/**
 * Reads a request's body as text, unpacked where it is packed.
 *
 * @param withinMs How long it may take to come, in milliseconds: a client that stalls holds its connection no longer.
 * @throws AppError `payload_too_large` over 1 MB, `unsupported_media_type` for another encoding, and
 * `invalid_request` for a body that does not come in time, does not unpack or breaks off, and for bytes that are not
 * UTF-8: with U+FFFD in their place a post would go out as nobody wrote it.
 */
export async function readText(ctx: Context, withinMs: number): Promise<string> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooSlow(withinMs)), withinMs);
  const bytes = await Promise.race([readBytes(ctx), late.promise])
    .finally(() => clearTimeout(timer))
    .catch((error: unknown) => {
      ctx.req.resume(); // What is left of it must go by, or the client never comes to read the answer.
      throw error;
    });
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new AppError('invalid_request', 'The request body is not UTF-8.', { cause: error });
  }
}

async function readBytes(ctx: Context): Promise<Buffer> {
  const { req } = ctx;
  const encoding = ctx.get('content-encoding').toLowerCase();
  if (encoding === '' || encoding === 'identity') {
    if ((ctx.request.length ?? 0) > maxBytes) {
      throw tooLarge();
    }

    return collect(req, req);
  }

  const unpacker = unpackers.get(encoding)?.();
  if (!unpacker) {
    const message = 'The request body cannot be read in this encoding.';
    throw new AppError('unsupported_media_type', message);
  }

  const isBomb = (size: number): boolean =>
    size > alwaysBytes && size > mostTimes * unpacker.bytesWritten;
  try {
    return await collect(req.pipe(unpacker), req, isBomb);
  } finally {
    req.unpipe(unpacker);
    unpacker.destroy();
  }
}

/** By events: an iterator would end the connection together with the reading. */
function collect(
  from: Readable,
  request: Context['req'],
  isBomb: (size: number) => boolean = () => false,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > maxBytes || isBomb(size)) {
        chunks.length = 0;
        from.off('data', take);
        reject(size > maxBytes ? tooLarge() : unpacksTooMuch());
      }
    };
    const breakOff = (): void => {
      if (!request.complete) {
        reject(new AppError('invalid_request', 'The request body broke off.'));
      }
    };
    from.on('data', take).once('end', () => resolve(Buffer.concat(chunks)));
    if (from !== request) {
      from.once('error', (cause) => reject(doesNotUnpack(cause)));
    }

    request.once('error', breakOff).once('close', breakOff);
  });
}

const tooSlow = (withinMs: number): AppError =>
  new AppError('invalid_request', `The request body did not come within ${withinMs / 1000} s.`);

const tooLarge = (): AppError =>
  new AppError('payload_too_large', 'The request body is larger than 1 MB.');

const unpacksTooMuch = (): AppError =>
  new AppError(
    'payload_too_large',
    `The request body unpacks to more than ${mostTimes} times its size.`,
  );

const doesNotUnpack = (cause: Error): AppError =>
  new AppError(
    'invalid_request',
    'The request body does not unpack as its Content-Encoding says.',
    { cause },
  );
