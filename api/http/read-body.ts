import type { Context } from 'koa';
import { getRawBody, type RawBodyError } from 'raw-body';
import { parse } from 'secure-json-parse';
import { AppError } from '../../domain/errors.ts';
import { createGrowingBuffer } from '../../runtime/bytes.ts';

type Reading = {
  /** Limit in bytes. */
  readonly most?: number;
  readonly withinMs?: number;
  /** Called before more than 64 kB are read, more than nearly every post has. What it throws ends the reading. */
  readonly onLarge?: (() => void) | undefined;
};

/**
 * Reads a JSON body. For a duplicate field the last value counts. @returns a function that parses it, or returns
 * undefined if it is empty. A call that waits keeps the text, since the values take twenty times as much memory.
 */
export async function readBody(ctx: Context, reading?: Reading): Promise<() => unknown> {
  const { length } = ctx.request;
  if (length !== undefined && length > 0) {
    assertJson(ctx); // Before a large body of another type is read.
  }

  const text = await readText(ctx, reading);
  if (text !== '') {
    assertJson(ctx);
  }

  return () => (text === '' ? undefined : parseJson(text));
}

/** In bytes. */
const largeLength = 64 * 1024;

export function refuseNoBody(schema: object): never {
  const required =
    'required' in schema ? ` with ${[schema.required].flat().join(', ')}` : ', at least {}';
  const message = `This call needs a JSON body${required} (Content-Type: application/json).`;
  throw new AppError('invalid_request', message);
}

/** Accepts an empty body, or the empty object that some clients always send. @param query Of the route. */
export function assertNoBody(body: unknown, query: object): void {
  const names = typeof body === 'object' && body !== null ? Object.keys(body) : null;
  if (body === undefined || names?.length === 0) {
    return;
  }

  const moved = names?.find((name) => Object.hasOwn(query, name));
  const next = moved === undefined ? ' Leave it out.' : ` \`${moved}\` belongs in the query.`;
  throw new AppError('invalid_request', `This call takes no body.${next}`);
}

function assertJson(ctx: Context): void {
  const charset = /;\s*charset\s*=\s*"?(?<name>[^\s";]*)/iv.exec(ctx.get('content-type'))?.groups;
  if (!ctx.is('application/json') || !/^(?:utf-?8)?$/iv.test(charset?.['name'] ?? '')) {
    const message = 'Send the body as JSON in UTF-8, with Content-Type: application/json.';
    throw new AppError('unsupported_media_type', message);
  }
}

export function assertUncompressed(ctx: Context): void {
  if (!/^(?:identity)?$/iv.test(ctx.get('content-encoding'))) {
    const message = 'Send the body uncompressed, without Content-Encoding.';
    throw new AppError('unsupported_media_type', message);
  }
}

function parseJson(text: string): unknown {
  let body: unknown;
  try {
    // A field named __proto__ would replace the prototype in code that copies fields one by one.
    body = parse(text, { constructorAction: 'ignore' });
  } catch (cause) {
    throw new AppError('invalid_request', brokenJson(cause as Error), { cause });
  }

  const excess = excessOf(body);
  if (excess !== null) {
    const message = `The request body ${excess}.`;
    throw new AppError('invalid_request', message, { details: [{ path: '', message }] });
  }

  return body;
}

/** Without the parser's own sentence, which quotes the body. */
function brokenJson({ message }: Error): string {
  if (message === 'Object contains forbidden prototype property') {
    return 'The request body has a field that is named __proto__. Remove it.';
  }

  const [, line, column] = /\(line (\d+) column (\d+)\)$/v.exec(message) ?? [];
  const where = line === undefined ? '' : `: see line ${line}, column ${column}`;
  return `The request body is not valid JSON${where}.`;
}

/**
 * Far more than any valid body has: a post on 100 channels with 20 files each has 6,000 values. Protects recursive code
 * from a stack overflow, and the processor: the schemas take up to 10 ms for a thousand values.
 */
const [mostLevels, mostValues] = [64, 10_000];

function excessOf(body: unknown): string | null {
  let values = 0;
  let level = [body].filter(isNested);
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === mostLevels) {
      return `nests objects and arrays more than ${mostLevels} levels deep`;
    }

    const inside = level.flatMap((value): unknown[] => Object.values(value));
    values += inside.length;
    if (values > mostValues) {
      return 'has more than 10,000 values';
    }

    level = inside.filter(isNested);
  }

  return null;
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;

const maxBytes = 1024 * 1024;

/** How long a whole body may take, in milliseconds. Uploads have their own limit. */
const mostMs = 60_000;

/** Not by koa-body: it replaces bytes that are not UTF-8, which would change a post's text. */
export async function readText(
  ctx: Context,
  { most = maxBytes, withinMs = mostMs, onLarge }: Reading = {},
): Promise<string> {
  assertUncompressed(ctx);
  const { length = null } = ctx.request;
  const isLarge = length !== null && length > largeLength;
  if (isLarge) {
    onLarge?.();
  }

  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `The request body took longer than ${withinMs / 1000} s. Send it faster.`;
    late.reject(new AppError('invalid_request', message));
  }, withinMs);
  const options = {
    length,
    limit: most,
    encoding: 'utf-8',
    decoder: strict(isLarge ? undefined : onLarge),
  };
  try {
    return await Promise.race([getRawBody(ctx.req, options), late.promise]);
  } catch (error) {
    throw error instanceof AppError ? error : refusalOf(error as RawBodyError, most);
  } finally {
    clearTimeout(timer);
  }
}

const strict = (onLarge?: () => void) => (encoding: string) => {
  const bytes = createGrowingBuffer();
  return {
    write: (chunk: Buffer) => {
      const before = bytes.length;
      bytes.append(chunk);
      if (bytes.length > largeLength && before <= largeLength) {
        onLarge?.();
      }

      return ''; // A string for each chunk would take more than its bytes.
    },
    end: () => new TextDecoder(encoding, { fatal: true }).decode(bytes.bytes()),
  };
};

function refusalOf(cause: RawBodyError, most: number): AppError {
  if (cause.type === 'entity.too.large') {
    const limit = most === maxBytes ? '1 MB' : `${most / 1024} kB`;
    const message = `The request body is larger than ${limit}.`;
    return new AppError('payload_too_large', message, {
      details: [{ path: '', message, limit: most }],
    });
  }

  return cause.code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
    ? new AppError('invalid_request', 'The request body is not UTF-8.', { cause })
    : new AppError('invalid_request', 'The request body broke off.', { cause });
}
