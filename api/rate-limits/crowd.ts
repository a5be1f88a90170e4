import type { Context, Middleware } from 'koa';
import { AppError } from '../../domain/errors.ts';
import { clientAddress } from './client-address.ts';

/** Lets in, or not. Whoever is in leaves once. */
export type Crowd = (key: string) => (() => void) | null;

/** In seconds. */
const retryAfter = 5;

/** Counts who is there at the same time, in this process. @param most Of one key; 0 is no bound. */
export function createCrowd(most: number): Crowd {
  const inside = new Map<string, number>();
  return (key) => {
    const before = inside.get(key) ?? 0;
    if (most > 0 && before >= most) {
      return null;
    }

    inside.set(key, before + 1);
    return () => {
      const left = (inside.get(key) ?? 1) - 1;
      inside[left === 0 ? 'delete' : 'set'](key, left);
    };
  };
}

/**
 * Counts a request until its answer is taken or its connection is gone.
 *
 * @param whose In words, for the one who is refused.
 * @throws AppError `rate_limited`
 */
export function enterCrowd(ctx: Context, crowd: Crowd, key: string, whose: string): void {
  const leave = crowd(key);
  if (!leave) {
    const message = `Too many requests ${whose} are under way at the same time. Wait for some of them.`;
    throw new AppError('rate_limited', message, { retryAfter });
  }

  if (ctx.res.closed) {
    leave();
  } else {
    ctx.res.once('close', leave);
  }
}

/**
 * Bounds the requests of one client address, also where several come on one connection, or all on a proxy's. Which address
 * that is, `PUNCTUAL_TRUST_PROXY` says.
 */
export function boundAddresses(most: number): Middleware {
  const crowd = createCrowd(most);
  return async (ctx, next) => {
    enterCrowd(ctx, crowd, clientAddress(ctx.ip), 'from your address');
    await next();
  };
}
