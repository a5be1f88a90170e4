import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import busboy, { type Busboy } from 'busboy';
import type { Context } from 'koa';
import { AppError, wrongValue } from '../../domain/errors.ts';
import { createIdleTimeout } from '../../runtime/timers.ts';
import { assertUncompressed } from './read-body.ts';

export type MultipartOptions = {
  /** Receives the bytes of the first file. Other files are dropped. */
  readonly sink: Writable;
  /** Transforms the bytes on the way, and may refuse them. */
  readonly through?: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;
  /** Limit for all files together. */
  readonly maxBytes: number;
  /** How long the client may stall, in milliseconds. */
  readonly stallMs: number;
};

export type Multipart = {
  /** Text fields by name; a list when a name is repeated. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The fields with files, in order, with the client's file names. */
  readonly files: readonly { readonly field: string; readonly fileName: string | undefined }[];
};

/** Limit in bytes for everything except the file: boundaries, headers and short fields. */
const maxAround = 64 * 1024;

/** Two files, so that a second file gets its own message. The parser itself limits the headers of a part to 16 KB. */
const limits = { fields: 10, files: 2, parts: 12, fieldSize: maxAround };

/** Streams the file of a multipart body into `sink`. The caller closes the sink, also after a failure. */
export async function readMultipart(ctx: Context, options: MultipartOptions): Promise<Multipart> {
  const type = ctx.get('content-type');
  if (/^multipart\/form-data *;?$/iv.test(type)) {
    const message = 'The Content-Type has no boundary: let your client set it.';
    throw new AppError('invalid_request', message);
  }

  if (!/^multipart\/form-data *;/iv.test(type)) {
    const message =
      'Send the body as multipart/form-data, with the file in the field "file". With curl, write `-F file=@cat.jpg`. For a link: POST /media/import.';
    throw new AppError('unsupported_media_type', message);
  }

  assertUncompressed(ctx);

  let parser: Busboy | undefined;
  try {
    if ((ctx.request.length ?? 0) > options.maxBytes + maxAround) {
      throw tooLarge(options.maxBytes);
    }

    parser = createParser(ctx, options);
    const parsed = collect(parser, options);
    ctx.req.pipe(parser);
    return await Promise.race([parsed, brokenOff(ctx.req, options)]);
  } catch (error) {
    if (parser) {
      ctx.req.unpipe(parser);
      parser.destroy();
    }

    ctx.req.resume(); // Drain the rest: many clients read the response only then.
    throw error;
  }
}

function createParser({ req }: Context, { maxBytes }: MultipartOptions): Busboy {
  try {
    return busboy({
      headers: req.headers,
      defParamCharset: 'utf8', // Browsers and other clients send file names in UTF-8.
      limits: { ...limits, fileSize: maxBytes + 1 }, // Busboy reports the limit when it is reached, not exceeded.
    });
  } catch (cause) {
    throw malformed(cause);
  }
}

/** Resolves when the body has ended and its file is written. An error in any listener rejects it. */
function collect(
  parser: Busboy,
  { sink, through = (bytes) => bytes, maxBytes }: MultipartOptions,
): Promise<Multipart> {
  const fields = new Map<string, unknown>();
  const files: { field: string; fileName: string | undefined }[] = [];
  const written: Promise<void>[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<Multipart>();
  const tooMany = (what: string) => () =>
    reject(new AppError('invalid_request', `The body has too many ${what}.`));

  parser.on('file', (field: string | undefined, bytes, { filename, encoding }) => {
    bytes.on('error', () => undefined).once('limit', () => reject(tooLarge(maxBytes)));
    const refused = refusalOfFile(field, encoding);
    if (refused) {
      bytes.resume();
      reject(refused);
      return;
    }

    files.push({ field: field ?? '', fileName: filename || undefined });
    if (files.length === 1) {
      written.push(pipeline(bytes, through, sink));
      written[0]?.catch(reject);
    } else {
      bytes.resume();
    }
  });
  parser.on('field', (name: string | undefined, text, { nameTruncated, valueTruncated }) => {
    if (name === undefined) {
      reject(nameless());
    } else if (nameTruncated || valueTruncated) {
      reject(
        new AppError(
          'invalid_request',
          `The field "${name}" is too long for a text. A file needs a file name.`,
        ),
      );
    } else if (text.includes(undecodable)) {
      reject(notUtf8(name));
    } else {
      fields.set(name, fields.has(name) ? [fields.get(name), text] : text);
    }
  });
  parser.on('partsLimit', tooMany('parts'));
  parser.on('fieldsLimit', tooMany('fields'));
  parser.on('filesLimit', tooMany('files'));
  parser.on('error', (cause) => reject(malformed(cause)));
  parser.on('close', () => {
    Promise.all(written).then(() => resolve({ fields: Object.fromEntries(fields), files }), reject);
  });
  return promise;
}

/** RFC 7578 (4.7) deprecates Content-Transfer-Encoding. Storing encoded bytes would store a different file. */
function refusalOfFile(field: string | undefined, encoding: string): AppError | null {
  if (field === undefined) {
    return nameless();
  }

  return ['7bit', '8bit', 'binary'].includes(encoding)
    ? null
    : new AppError(
        'invalid_request',
        'Send the bytes of the file as they are: another Content-Transfer-Encoding is not read.',
      );
}

/** The parser's replacement for undecodable bytes. A literal U+FFFD is refused too. */
const undecodable = '\u{FFFD}';

function notUtf8(field: string): AppError {
  const message = 'must be text in UTF-8, without U+FFFD, or a file with a file name';
  return wrongValue(`/${field}`, message, `The field "${field}" ${message}.`);
}

const nameless = (): AppError => new AppError('invalid_request', 'A part of the body has no name.');

/** Rejects when the client hangs up early or stalls. Never resolves. */
function brokenOff(
  request: Context['req'],
  { stallMs, maxBytes }: MultipartOptions,
): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const fail = (message: string) => reject(new AppError('invalid_request', message));
  const idle = createIdleTimeout(stallMs, () => {
    if (request.isPaused()) {
      idle.touch(); // The disk is slow, not the client.
      return;
    }

    fail(`Nothing came for ${stallMs / 1000} s.`);
  });
  const stop = () => {
    idle.pause();
    if (!request.complete) {
      fail('The upload broke off.');
    }
  };
  idle.touch();
  request.once('end', stop).once('close', stop);
  let came = 0;
  request.on('data', (chunk: Buffer) => {
    idle.touch();
    came += chunk.length;
    if (came > maxBytes + maxAround) {
      reject(tooLarge(maxBytes)); // The whole body, including its fields.
    }
  });
  if (request.destroyed) {
    stop();
  }

  return promise;
}

function tooLarge(maxBytes: number): AppError {
  const message = `The file is larger than ${maxBytes / 2 ** 20} MB.`;
  return new AppError('payload_too_large', message, {
    details: [{ path: '/file', message, limit: maxBytes }],
  });
}

const malformed = (cause: unknown): AppError =>
  new AppError('invalid_request', 'The body is not well-formed multipart/form-data.', { cause });
