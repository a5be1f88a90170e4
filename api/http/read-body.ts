import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createBrotliDecompress, createUnzip, type BrotliDecompress, type Unzip } from 'node:zlib';
import type { Context } from 'koa';
import { AppError } from '../../domain/errors.ts';
import { createGrowingBuffer } from '../../runtime/bytes.ts';

/**
 * Reads a JSON body of at most 1 MB. For a duplicate field the last value counts.
 *
 * @param withinMs Time limit for the body, in milliseconds.
 */
export async function readBody(ctx: Context, withinMs: number): Promise<unknown> {
  const type = ctx.get('content-type');
  const { length } = ctx.request;
  if (length === 0 || (type === '' && length === undefined)) {
    throw new AppError(
      'invalid_request',
      'This call needs a JSON body (Content-Type: application/json).',
    );
  }

  assertJson(ctx);
  return parseJson(await readText(ctx, withinMs));
}

/**
 * Accepts an empty body, or the empty object that some clients always send.
 *
 * @throws AppError for any other body, because its fields would be ignored.
 */
export async function readNoBody(ctx: Context, withinMs: number): Promise<void> {
  const comes = (ctx.request.length ?? 0) > 0 || ctx.get('transfer-encoding') !== '';
  const text = comes ? await readText(ctx, withinMs) : '';
  if (text === '') {
    return;
  }

  assertJson(ctx);
  const body = parseJson(text);
  if (typeof body !== 'object' || body === null || Object.keys(body).length > 0) {
    throw new AppError('invalid_request', 'This call takes no body.');
  }
}

/** @throws AppError `unsupported_media_type` */
function assertJson(ctx: Context): void {
  const charset = /;\s*charset\s*=\s*"?(?<name>[^\s";]*)/iv.exec(ctx.get('content-type'))?.groups;
  if (!ctx.is('application/json') || !/^(?:utf-?8)?$/iv.test(charset?.['name'] ?? '')) {
    throw new AppError(
      'unsupported_media_type',
      'Send the body as JSON in UTF-8, with Content-Type: application/json.',
    );
  }
}

/**
 * Matches a `__proto__` field, also when spelt with escapes. Our code treats it as an ordinary field; refusing it
 * protects code that copies fields one by one, where it would replace the prototype.
 */
const protoField =
  /"(?:_|\\u005f){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006f)(?:t|\\u0074)(?:o|\\u006f)(?:_|\\u005f){2}"\s*:/iv;

/** Far deeper than any valid body. Protects recursive code from a stack overflow. */
const mostLevels = 64;

function parseJson(text: string): unknown {
  if (levelsOf(text) > mostLevels) {
    const message = `The request body nests objects and arrays more than ${mostLevels} levels deep.`;
    throw new AppError('invalid_request', message, { details: [{ path: '', message }] });
  }

  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new AppError('invalid_request', 'The request body is not valid JSON.', { cause });
  }

  if (protoField.test(text)) {
    throw new AppError('invalid_request', 'The request body has a field that is named __proto__.');
  }

  return body;
}

/**
 * Returns the nesting depth; any number for invalid JSON. Skips strings with `indexOf`: reading each character of a
 * megabyte takes up to 90 ms until the function is compiled.
 */
function levelsOf(text: string): number {
  let [level, deepest] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === quote) {
      at = endOfString(text, at);
    } else if (char === openingBracket || char === openingBrace) {
      level += 1;
      deepest = Math.max(deepest, level);
    } else if (char === closingBracket || char === closingBrace) {
      level -= 1;
    }
  }

  return deepest;
}

const [quote, backslash] = [0x22, 0x5c];
const [openingBracket, closingBracket, openingBrace, closingBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Index of the closing quote of the string that begins at `start`; the text's length when there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = end;
    while (text.charCodeAt(escapes - 1) === backslash) {
      escapes -= 1;
    }

    if ((end - escapes) % 2 === 0) {
      return end;
    }
  }

  return text.length;
}

/** Limit of a JSON body, uncompressed. */
const maxBytes = 1024 * 1024;

/**
 * Maximum compression ratio of a body larger than the second value, in bytes. Written text compresses to a third; a
 * ratio of 100 indicates a decompression bomb.
 */
const [mostTimes, alwaysBytes] = [100, 64 * 1024];

type Unpacker = BrotliDecompress | Unzip;

/** Keyed by Content-Encoding. */
const unpackers: ReadonlyMap<string, () => Unpacker> = new Map<string, () => Unpacker>([
  ['gzip', createUnzip],
  ['deflate', createUnzip],
  ['br', createBrotliDecompress],
]);

/**
 * Reads a request body as text and decompresses it.
 *
 * @param withinMs Time limit in milliseconds, so that a stalled client does not hold its connection.
 * @param most Limit in bytes, uncompressed.
 * @throws AppError `payload_too_large`; `unsupported_media_type` for another encoding; `invalid_request` for a body
 *   that is late, incomplete, does not decompress or is not UTF-8: replacement characters would silently change the
 *   text of a post.
 */
export async function readText(
  ctx: Context,
  withinMs: number,
  most: number = maxBytes,
): Promise<string> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooSlow(withinMs)), withinMs);
  const bytes = await Promise.race([readBytes(ctx, most), late.promise])
    .finally(() => clearTimeout(timer))
    .catch((error: unknown) => {
      ctx.req.resume(); // Drain the rest: many clients read the response only then.
      throw error;
    });
  if (bytes.length > smallBytes) {
    await turnOfLargeBody();
  }

  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new AppError('invalid_request', 'The request body is not UTF-8.', { cause: error });
  }
}

/** A body up to this size, in bytes and uncompressed, is processed immediately. */
const smallBytes = 64 * 1024;
let lastTurn = Promise.resolve();

/**
 * Spreads large bodies over rounds of the event loop, one per round. Parsing and validating a megabyte takes 5 to 20
 * ms; many complete bodies at once would block other calls for the sum of that.
 */
function turnOfLargeBody(): Promise<void> {
  lastTurn = lastTurn.then(() => setImmediate());
  return lastTurn;
}

async function readBytes(ctx: Context, most: number): Promise<Buffer> {
  const { req } = ctx;
  const encoding = ctx.get('content-encoding').toLowerCase();
  if (encoding === '' || encoding === 'identity') {
    if ((ctx.request.length ?? 0) > most) {
      throw tooLarge(most);
    }

    return collect(req, req, most);
  }

  const unpacker = unpackers.get(encoding)?.();
  if (!unpacker) {
    const message = 'The request body cannot be read in this encoding.';
    throw new AppError('unsupported_media_type', message);
  }

  const isBomb = (size: number): boolean =>
    size > alwaysBytes && size > mostTimes * unpacker.bytesWritten;
  try {
    return await collect(req.pipe(unpacker), req, most, isBomb);
  } finally {
    req.unpipe(unpacker);
    unpacker.destroy();
  }
}

/** Uses events: an iterator would close the connection when it ends. */
function collect(
  from: Readable,
  request: Context['req'],
  most: number,
  isBomb: (size: number) => boolean = () => false,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let kept = createGrowingBuffer();
    const refuse = (error: AppError): void => {
      kept = createGrowingBuffer();
      from.off('data', take);
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      const size = kept.length + chunk.length;
      if (size > most) {
        refuse(tooLarge(most));
      } else if (isBomb(size)) {
        refuse(unpacksTooMuch());
      } else {
        kept.append(chunk);
        if (kept.isFragmented) {
          refuse(tooFragmented());
        }
      }
    };
    const breakOff = (): void => {
      if (!request.complete) {
        reject(new AppError('invalid_request', 'The request body broke off.'));
      }
    };
    from.on('data', take).once('end', () => resolve(kept.bytes()));
    if (from !== request) {
      from.once('error', (cause) => reject(doesNotUnpack(cause)));
    }

    request.once('error', breakOff).once('close', breakOff);
  });
}

const tooSlow = (withinMs: number): AppError =>
  new AppError('invalid_request', `The request body did not come within ${withinMs / 1000} s.`);

const tooLarge = (most: number): AppError =>
  new AppError(
    'payload_too_large',
    `The request body is larger than ${most === maxBytes ? '1 MB' : `${most / 1024} kB`}.`,
  );

const unpacksTooMuch = (): AppError =>
  new AppError(
    'payload_too_large',
    `The request body unpacks to more than ${mostTimes} times its size.`,
  );

const tooFragmented = (): AppError =>
  new AppError(
    'invalid_request',
    'The request body comes in too many chunks of a few bytes. Send it in larger ones, or with a Content-Length.',
  );

const doesNotUnpack = (cause: Error): AppError =>
  new AppError(
    'invalid_request',
    'The request body does not unpack as its Content-Encoding says.',
    { cause },
  );
