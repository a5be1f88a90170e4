import { defineEntity, p } from '@mikro-orm/core';

export const RateLimitSchema = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limits',
  properties: {
    /** Who calls, and which of the limits counts. */
    key: p.string().length(255).primary(),
    /** Calls in the current window. */
    points: p.integer().default(0),
    /** When the window ends, in milliseconds since 1970. */
    expire: p.bigint('number').strictNullable(),
  },
});

/** Calls counted by `rate-limiter-flexible`, which owns the shape of this table. */
export class RateLimit extends RateLimitSchema.class {}
RateLimitSchema.setClass(RateLimit);
