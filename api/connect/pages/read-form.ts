import type { Context } from 'koa';
import { AppError } from '../../../domain/errors.ts';
import { readText } from '../../http/read-body.ts';

/** In bytes: a key, a step and some fields. */
const maxBytes = 16 * 1024;

/**
 * Reads a form of the page.
 *
 * @param withinMs Time limit for the body, in milliseconds.
 * @throws AppError `unsupported_media_type`, `payload_too_large`, `invalid_request`
 */
export async function readForm(ctx: Context, withinMs: number): Promise<URLSearchParams> {
  if (!ctx.is('application/x-www-form-urlencoded') || ctx.get('content-encoding') !== '') {
    throw new AppError('unsupported_media_type', 'This address accepts only the form of its page.');
  }

  return new URLSearchParams(await readText(ctx, withinMs, maxBytes));
}
