import type { Context } from 'koa';
import { readRequestBody } from '../body.ts';
import { Refusal } from '../refusal.ts';

/** @throws Refusal 415 for a body that is not JSON; otherwise like `readRequestBody`. */
export function readJson(ctx: Context): Promise<Record<string, unknown>> {
  if (!ctx.is('application/json')) {
    throw new Refusal(415, 'The body must be application/json.', { code: 'invalid-request' });
  }
  return readRequestBody(ctx.req);
}
