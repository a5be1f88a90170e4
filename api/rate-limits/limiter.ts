import type { Context } from 'koa';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { AppError } from '../../domain/errors.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { Refusals, SignIn } from '../../services/channels/connect-with-secret.ts';

/** Calls per window of `windowSeconds`, which begins with the first call. */
export type Policy = { readonly name: string; readonly quota: number };

const windowSeconds = 60;

/** A caller's state under a policy, after one of its calls was counted. */
export type Standing = {
  readonly policy: Policy;
  readonly remaining: number;
  /** Until the window ends; at least 1. */
  readonly resetSeconds: number;
  readonly refused: boolean;
};

/** Counts the calls of callers, who are never named by an API key itself. */
export function createLimiter(policy: Policy) {
  const counter = new RateLimiterMemory({ points: policy.quota, duration: windowSeconds });
  return {
    count: async (key: string): Promise<Standing> => {
      const counted = await counter.penalty(key);
      return {
        policy,
        remaining: counted.remainingPoints,
        resetSeconds: Math.max(Math.ceil(counted.msBeforeNext / 1000), 1),
        refused: counted.consumedPoints > policy.quota,
      };
    },
    used: async (key: string): Promise<number> => (await counter.get(key))?.consumedPoints ?? 0,
  };
}

/** The fields of draft-ietf-httpapi-ratelimit-headers-11 (May 2026), sections 3 and 4. */
export const rateLimitHeaders = (
  policies: readonly Policy[],
  standings: readonly Standing[],
): Record<string, string> => ({
  'RateLimit-Policy': policies
    .map(({ name, quota }) => `"${name}";q=${quota};w=${windowSeconds}`)
    .join(', '),
  RateLimit: standings
    .map(({ policy, remaining, resetSeconds: t }) => `"${policy.name}";r=${remaining};t=${t}`)
    .join(', '),
});

const signInWindowSeconds = 300;

/** Many clients of a workspace sign in at one server, which allows 3000 calls in 5 minutes from one address. */
const serverFactor = 10;

/** @param perAddress Limit of refused sign-ins per client address in five minutes. */
export function createRefusals(perAddress: number): Refusals {
  const counterOf = (points: number) =>
    new RateLimiterMemory({ points, duration: signInWindowSeconds });
  const addresses = counterOf(perAddress);
  const servers = counterOf(serverFactor * perAddress);
  const atServer = ({ workspaceId, server }: SignIn) => sha256Hex(`${workspaceId} ${server}`);
  return {
    async restOf(signIn) {
      const counted = await Promise.all([
        addresses.get(signIn.address),
        servers.get(atServer(signIn)),
      ]);
      const used = counted.filter((one) => one !== null && one.remainingPoints <= 0);
      return Math.max(0, ...used.map((one) => Math.ceil((one?.msBeforeNext ?? 0) / 1000)));
    },
    async count(signIn) {
      await Promise.all([addresses.penalty(signIn.address), servers.penalty(atServer(signIn))]);
    },
  };
}

/** In seconds. */
const retryAfter = 5;

/**
 * Limits simultaneous requests. The returned function takes a slot until the response is sent or its connection closed.
 *
 * @param most Per id; 0 is unlimited. @param what The counted requests, for the refusal.
 */
export function createConcurrencyLimit(
  most: number,
  what: string,
): (ctx: Context, id: string) => void {
  const active = new Map<string, number>();
  return (ctx, id) => {
    const before = active.get(id) ?? 0;
    if (most > 0 && before >= most) {
      const message = `Too many requests ${what} are under way at the same time. Wait until some have ended.`;
      throw new AppError('rate_limited', message, { retryAfter });
    }

    if (ctx.res.closed) {
      return;
    }

    active.set(id, before + 1);
    ctx.res.once('close', () => {
      const left = (active.get(id) ?? 1) - 1;
      active[left === 0 ? 'delete' : 'set'](id, left);
    });
  };
}
