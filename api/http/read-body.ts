import type { Context } from 'koa';
import { AppError } from '../../domain/errors.ts';
import { readText } from './read-text.ts';

/**
 * A JSON body of at most 1 MB. Of a field that is given twice the last counts.
 *
 * @param withinMs How long it may take to come, in milliseconds.
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

  mustBeJson(ctx);
  return parseJson(await readText(ctx, withinMs));
}

/**
 * For a call that takes no body: lets an empty one pass, and an empty object, which some clients always send.
 *
 * @throws AppError for anything else, so that nobody believes a field of it was heard.
 */
export async function readNoBody(ctx: Context, withinMs: number): Promise<void> {
  const comes = (ctx.request.length ?? 0) > 0 || ctx.get('transfer-encoding') !== '';
  const text = comes ? await readText(ctx, withinMs) : '';
  if (text === '') {
    return;
  }

  mustBeJson(ctx);
  const body = parseJson(text);
  if (typeof body !== 'object' || body === null || Object.keys(body).length > 0) {
    throw new AppError('invalid_request', 'This call takes no body.');
  }
}

/** @throws AppError `unsupported_media_type` */
function mustBeJson(ctx: Context): void {
  const charset = /;\s*charset\s*=\s*"?(?<name>[^\s";]*)/iv.exec(ctx.get('content-type'))?.groups;
  if (!ctx.is('application/json') || !/^(?:utf-?8)?$/iv.test(charset?.['name'] ?? '')) {
    throw new AppError(
      'unsupported_media_type',
      'Send the body as JSON in UTF-8, with Content-Type: application/json.',
    );
  }
}

/**
 * A field of this name, also spelt with escapes. Our own code takes it for a field like any other; this keeps it from
 * ever meeting code that copies fields one by one, where it would change what an object is.
 */
const protoField =
  /"(?:_|\\u005f){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006f)(?:t|\\u0074)(?:o|\\u006f)(?:_|\\u005f){2}"\s*:/iv;

function parseJson(text: string): unknown {
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
