import { defineEntity, p } from '@mikro-orm/core';

export const RateLimitSchema = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limits',
  properties: {
    /** Caller and name of the limit. */
    key: p.string().length(255).primary(),
    /** Calls in the current window. */
    points: p.integer().default(0),
    /** End of the window, in milliseconds since 1970. */
    expire: p.bigint('number').strictNullable(),
  },
});

/** Counters of `rate-limiter-flexible`, which defines this table's shape. */
export class RateLimit extends RateLimitSchema.class {}
RateLimitSchema.setClass(RateLimit);
