import { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import { AppError } from '../../domain/errors.ts';
import { watchSilence } from '../../runtime/egress/silence.ts';

export type MultipartOptions = {
  /** Takes the bytes of the first file as they come. Those of others are dropped. */
  readonly sink: Writable;
  /** Of all files together. */
  readonly maxBytes: number;
  /** How long the client may send nothing, in milliseconds. */
  readonly stallMs: number;
};

export type Multipart = {
  /** What is no file, by name. A list where a name came more than once. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The fields that had a file, in order, and what the file was called. */
  readonly files: readonly { readonly field: string; readonly fileName: string | undefined }[];
};

/** What may stand around the file: boundaries, headers, short fields. */
const maxAround = 64 * 1024;

/** For how long a client that was refused may go on sending; many read the answer only then. In milliseconds. */
const lingerMs = 5000;

/**
 * Reads a multipart body and streams its file into `sink`. The sink is the caller's to close, also after a failure.
 *
 * @throws AppError `unsupported_media_type`, `payload_too_large` as soon as it is clear, `invalid_request` for a
 * body that is broken, breaks off or stops coming; and what the sink fails with.
 */
export async function readMultipart(ctx: Context, options: MultipartOptions): Promise<Multipart> {
  try {
    return await read(ctx, options);
  } catch (error) {
    leaveRest(ctx.req);
    throw named(error, options.maxBytes);
  }
}

async function read(ctx: Context, { sink, maxBytes, stallMs }: MultipartOptions) {
  if (!/^multipart\/form-data *(?:;|$)/iv.test(ctx.get('content-type'))) {
    throw new AppError('unsupported_media_type', 'Send the body as multipart/form-data.');
  }

  if ((ctx.request.length ?? 0) > maxBytes + maxAround) {
    throw tooLarge(maxBytes);
  }

  const files: { field: string; fileName: string | undefined }[] = [];
  const parse = koaBody({
    multipart: true,
    json: false,
    urlencoded: false,
    text: false,
    formidable: {
      allowEmptyFiles: true,
      minFileSize: 0,
      maxFileSize: maxBytes,
      maxTotalFileSize: maxBytes,
      maxFields: 10,
      maxFieldsSize: maxAround,
      onFileBegin: (field, { originalFilename }) =>
        files.push({ field, fileName: originalFilename ?? undefined }),
      fileWriteStreamHandler: () => (files.length === 1 ? sink : dropped()),
      onPart(part, handle) {
        // What has a file name is a file, also when its type was left out, and then it must not go into memory.
        if (part.originalFilename) {
          part.mimetype ??= 'application/octet-stream';
        }

        void handle(part);
      },
    },
  });
  const parsed = parse(ctx, () => Promise.resolve());
  await Promise.race([parsed, brokenOff(ctx.req, stallMs)]);
  if (files.length > 0) {
    // The parser ends with the body, and does not look whether the last of it could be written.
    await finished(sink);
  }

  return { fields: ctx.request.body as Record<string, unknown>, files };
}

/** Rejects when the client hangs up before the end or sends nothing for a while. Never resolves. */
function brokenOff(request: Context['req'], stallMs: number): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const fail = (message: string) => reject(new AppError('invalid_request', message));
  const silence = watchSilence(stallMs, () => {
    if (request.isPaused()) {
      silence.touch(); // It is our disk that is slow.
      return;
    }

    fail(`Nothing came for ${stallMs / 1000} s.`);
  });
  const stop = () => {
    silence.pause();
    if (!request.complete) {
      fail('The upload broke off.');
    }
  };
  silence.touch();
  request.once('end', stop).once('close', stop);
  // Not before the parser listens: the first listener sets the data going.
  setImmediate(() => request.on('data', () => silence.touch()));
  if (request.destroyed) {
    stop();
  }

  return promise;
}

/** Whatever is still coming goes by, for a moment. */
function leaveRest(request: Context['req']): void {
  if (request.complete || request.destroyed) {
    return;
  }

  const timer = setTimeout(() => request.destroy(), lingerMs);
  request.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
  request.resume();
}

const dropped = () => new Writable({ write: (_chunk, _encoding, done) => done() });

const tooLarge = (maxBytes: number) =>
  new AppError('payload_too_large', `The file is larger than ${maxBytes / 2 ** 20} MB.`);

/** What the parser finds wrong has an `httpCode`. */
function named(error: unknown, maxBytes: number): unknown {
  const status = error instanceof Error && 'httpCode' in error ? error.httpCode : undefined;
  if (status === undefined) {
    return error;
  }

  return status === 413
    ? tooLarge(maxBytes)
    : new AppError('invalid_request', 'The body is not well-formed multipart/form-data.', {
        cause: error,
      });
}
