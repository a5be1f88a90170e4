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

/** Reads a JSON body of at most 1 MB into `ctx.request.body`. */
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

  await readJson(ctx, () => Promise.resolve()).catch(blameEncoding);
  return ctx.request.body;
}

/** What the reader finds wrong has a status; what has none comes from unpacking a compressed body. */
function blameEncoding(error: unknown): never {
  if (error instanceof Error && 'status' in error) {
    throw error;
  }

  throw new AppError(
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
