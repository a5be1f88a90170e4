import type { Context } from 'koa';
import { koaBody } from 'koa-body';
import { AppError } from '../../domain/errors.ts';

const readJson = koaBody({
  jsonLimit: '1mb',
  json: true,
  multipart: false,
  urlencoded: false,
  text: false,
});

/** Reads a JSON body of at most 1 MB. */
export async function readBody(ctx: Context): Promise<unknown> {
  if (ctx.request.length === 0 || !ctx.get('content-type')) {
    if (ctx.get('content-type') === '' && (ctx.request.length ?? 0) > 0) {
      throw wrongType();
    }

    throw new AppError(
      'invalid_request',
      'This call needs a JSON body (Content-Type: application/json).',
    );
  }

  if (!ctx.is('application/json')) {
    throw wrongType();
  }

  const isUtf8 = watchUtf8(ctx);
  await readJson(ctx, () => Promise.resolve()).catch((error: unknown) => {
    ctx.req.resume(); // What is left of it must go by, or the client never comes to read the answer.
    throw blamed(error);
  });
  if (!isUtf8()) {
    throw new AppError('invalid_request', 'The request body is not UTF-8.');
  }

  return ctx.request.body;
}

/**
 * For a call that takes no body: lets an empty one pass, and an empty object, which some clients always send.
 *
 * @throws AppError for anything else, so that nobody believes a field of it was heard.
 */
export async function readNoBody(ctx: Context): Promise<void> {
  const comes = (ctx.request.length ?? 0) > 0 || ctx.get('transfer-encoding') !== '';
  if (comes && !isEmptyObject(await readBody(ctx))) {
    throw new AppError('invalid_request', 'This call takes no body.');
  }
}

const isEmptyObject = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && Object.keys(body).length === 0;

/**
 * Looks at the bytes as they come in: the reader puts U+FFFD in the place of what is not UTF-8, and a post would
 * go out with it. Bytes of a compressed body are not text yet and pass.
 *
 * @returns whether all that came was UTF-8.
 */
function watchUtf8(ctx: Context): () => boolean {
  if (ctx.get('content-encoding') !== '') {
    return () => true;
  }

  const decoder = new TextDecoder('utf-8', { fatal: true });
  let sound = true;
  ctx.req.on('data', (chunk: Buffer) => {
    try {
      decoder.decode(chunk, { stream: true });
    } catch {
      sound = false;
    }
  });
  return () => sound;
}

/** What the reader finds wrong has a status; what has none comes from unpacking a compressed body. */
function blamed(error: unknown): unknown {
  return error instanceof Error && 'status' in error
    ? error
    : new AppError(
        'invalid_request',
        'The request body does not unpack as its Content-Encoding says.',
        { cause: error },
      );
}

const wrongType = (): AppError =>
  new AppError(
    'unsupported_media_type',
    'Send the body as JSON, with Content-Type: application/json.',
  );
