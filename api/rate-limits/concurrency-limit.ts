import type { Context } from 'koa';
import { AppError } from '../../domain/errors.ts';

/** In seconds. */
const retryAfter = 5;

/**
 * Limits the concurrent requests of each API key in this process.
 *
 * @param most Per key; 0 is unlimited.
 * @returns a function that takes a slot until the request's response is sent or its connection is closed. It throws
 *   AppError `rate_limited`.
 */
export function createConcurrencyLimit(most: number): (ctx: Context, keyId: string) => void {
  const active = new Map<string, number>();
  return (ctx, keyId) => {
    const before = active.get(keyId) ?? 0;
    if (most > 0 && before >= most) {
      const message =
        'Too many requests with this API key are under way at the same time. Wait until some have ended.';
      throw new AppError('rate_limited', message, { retryAfter });
    }

    if (ctx.res.closed) {
      return;
    }

    active.set(keyId, before + 1);
    ctx.res.once('close', () => {
      const left = (active.get(keyId) ?? 1) - 1;
      active[left === 0 ? 'delete' : 'set'](keyId, left);
    });
  };
}
