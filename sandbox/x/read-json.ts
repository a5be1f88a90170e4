import type { Context } from 'koa';
import { readBody } from '../body.ts';
import { Refusal } from '../refusal.ts';

/** @throws Refusal 415 for what is no JSON; as `readBody`. */
export function readJson(ctx: Context): Promise<Record<string, unknown>> {
  if (!ctx.is('application/json')) {
    throw new Refusal(415, 'The body must be application/json.', { code: 'invalid-request' });
  }
  return readBody(ctx.req);
}
