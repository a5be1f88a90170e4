import type { Context } from 'koa';
import { Pool } from 'pg';
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { mayPrepare } from '../../db/pool.ts';
import { AppError } from '../../domain/errors.ts';
import { databaseConnection } from '../../runtime/config/database-connection.ts';
import type { Logger } from '../../runtime/logger.ts';
import { sha256Hex } from '../../runtime/secrets.ts';

/** Calls per window of `windowSeconds`, which begins with the first call. */
export type Policy = { readonly name: string; readonly quota: number };

const windowSeconds = 60;

/** A caller's state under a policy, after one of its calls was counted. */
export type Standing = {
  readonly policy: Policy;
  /** Calls left in this window. */
  readonly remaining: number;
  /** Until the window ends; at least 1. */
  readonly resetSeconds: number;
  /** Whether this call exceeded the quota. */
  readonly refused: boolean;
};

/**
 * Counts a call.
 *
 * @param key Identifies the caller; never an API key itself. At most 200 characters.
 * @throws Error of `pg` when the database is unavailable, so that no call goes uncounted.
 */
type Limiter = (key: string) => Promise<Standing>;

/** Counts in PostgreSQL, for all API processes together. Also removes expired rows of the table, whatever counted them. */
export function createLimiter(pool: Pool, policy: Policy): Limiter {
  const { name, quota } = policy;
  const counter = new RateLimiterPostgres({
    storeClient: pool,
    storeType: 'pool',
    tableName: 'rate_limits',
    tableCreated: true, // By a migration.
    clearExpiredByTimeout: true,
    keyPrefix: name,
    points: quota,
    duration: windowSeconds,
    // Refuses a caller over its quota from memory until the window ends, so that a flood costs no statements.
    inMemoryBlockOnConsumed: quota,
  });
  return limiterOf(counter, policy);
}

/** Counts calls in this process only. */
export const createLocalLimiter = (policy: Policy): Limiter =>
  limiterOf(new RateLimiterMemory({ points: policy.quota, duration: windowSeconds }), policy);

function limiterOf(counter: Pick<RateLimiterMemory, 'consume'>, policy: Policy): Limiter {
  return async (key) => {
    const { refused, counted } = await counter.consume(key).then(
      (result) => ({ refused: false, counted: result }),
      (thrown) => ({ refused: true, counted: refusal(thrown) }),
    );
    return {
      policy,
      remaining: counted.remainingPoints,
      resetSeconds: secondsOf(counted.msBeforeNext),
      refused,
    };
  };
}

const secondsOf = (ms: number): number => Math.max(Math.ceil(ms / 1000), 1);

/** Calls of a key in its current windows, including this call, and the milliseconds until these end. */
export type KeyCounts = {
  readonly requests: number;
  readonly requests_ms: number;
  /** Null when the call did not count as a write. */
  readonly writes: number | null;
  readonly writes_ms: number | null;
};

export const standingOf = (policy: Policy, points: number, restMs: number): Standing => ({
  policy,
  remaining: Math.max(policy.quota - points, 0),
  resetSeconds: secondsOf(restMs),
  refused: points > policy.quota,
});

/**
 * SQL that finds a key and counts calls with it, in one statement because every call runs it. Writes are counted in the
 * window of the requests, among which they are. Calls beyond the quota of requests do not count as writes.
 *
 * Values: `$2` for each call whether it is a write, `$3` the quota of requests.
 *
 * @param findKey SQL that returns the row of the key, with its `id`. It uses `$1`.
 */
export const countingCalls = (findKey: string): string => `with k as (${findKey}),
  clock as (select (extract(epoch from now()) * 1000)::bigint as ms),
  requests as (${counting('requests', 'cardinality($2::boolean[])', `(select ms + ${windowMs} as ends from clock)`, `old.expire <= excluded.expire - ${windowMs}`)}),
  admitted as (select count(*)::integer as writes from requests, unnest($2::boolean[]) with ordinality as call (is_write, rank)
    where is_write and requests.points - cardinality($2::boolean[]) + rank <= $3::bigint),
  writes as (${counting('writes', 'admitted.writes', '(select expire as ends from requests), admitted where admitted.writes > 0', 'old.expire <> excluded.expire')})
  select k.*, requests.points as requests, (requests.expire - clock.ms)::integer as requests_ms,
    writes.points as writes, (writes.expire - clock.ms)::integer as writes_ms
  from k cross join clock cross join requests left join writes on true`;

const windowMs = 1000 * windowSeconds;

/**
 * @param calls How many.
 * @param from Tables, with `k` and `ends` as the end of a window that begins now.
 * @param isOver Whether the window of the row `old` is over.
 */
const counting = (name: string, calls: string, from: string, isOver: string): string =>
  `insert into rate_limits as old (key, points, expire)
    select '${name}:' || k.id, ${calls}, ends from k, ${from}
    on conflict (key) do update set
      points = case when ${isOver} then 0 else old.points end + excluded.points,
      expire = case when ${isOver} then excluded.expire else old.expire end
    returning points, expire`;

/** Reads the calls of a key in the current minute, without counting one. */
export type CallCounts = (keyId: string) => Promise<{ requests: number; writes: number }>;

const readCounts = `select coalesce(max(points) filter (where key = 'requests:' || $1), 0) as requests,
    coalesce(max(points) filter (where key = 'writes:' || $1), 0) as writes
  from rate_limits where key in ('requests:' || $1, 'writes:' || $1) and expire > extract(epoch from now()) * 1000`;

export const callCountReader =
  (pool: Pool): CallCounts =>
  async (keyId) => {
    const { rows } = await pool.query({ name: 'call-counts', text: readCounts, values: [keyId] });
    return rows[0];
  };

/** The library throws the counter when the quota is exceeded. */
function refusal(thrown: unknown): RateLimiterRes {
  if (thrown instanceof RateLimiterRes) {
    return thrown;
  }

  throw thrown;
}

/**
 * Builds the fields of draft-ietf-httpapi-ratelimit-headers-11 (May 2026), sections 3 and 4, as lists of structured
 * fields (RFC 9651): the policies, and the caller's state under those that counted this call.
 */
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

/** A sign-in with a secret that a person typed. */
type SignIn = {
  /** The client's address, as `clientAddress` counts it. */
  readonly address: string;
  /** The host that receives the secret. */
  readonly server: string;
};

/** Counts sign-ins that a network refused, in PostgreSQL, for all API processes together. */
export type Refusals = {
  /** @returns how many seconds sign-ins stay blocked; 0 when they are allowed. */
  readonly restOf: (signIn: SignIn) => Promise<number>;
  readonly count: (signIn: SignIn) => Promise<void>;
};

const signInWindowSeconds = 300;

/** Many clients sign in at one server. Servers allow far more from one address: 3000 calls in 5 minutes. */
const serverFactor = 10;

/** @param perAddress Limit of refused sign-ins per client address in five minutes. */
export function createRefusals(pool: Pool, perAddress: number): Refusals {
  const counterOf = (keyPrefix: string, points: number) =>
    new RateLimiterPostgres({
      storeClient: pool,
      storeType: 'pool',
      tableName: 'rate_limits',
      tableCreated: true, // By a migration.
      clearExpiredByTimeout: false,
      keyPrefix,
      points,
      duration: signInWindowSeconds,
    });
  const addresses = counterOf('refused-by-address', perAddress);
  const servers = counterOf('refused-by-server', serverFactor * perAddress);
  return {
    async restOf({ address, server }) {
      const counted = await Promise.all([addresses.get(address), servers.get(sha256Hex(server))]);
      const used = counted.filter((one) => one !== null && one.remainingPoints <= 0);
      return Math.max(0, ...used.map((one) => Math.ceil((one?.msBeforeNext ?? 0) / 1000)));
    },
    async count({ address, server }) {
      await Promise.all([addresses.penalty(address), servers.penalty(sha256Hex(server))]);
    },
  };
}

/**
 * Creates a small pool for authentication and rate limits, separate from the ORM's: calls that hold all of its
 * connections must not delay refusals. Statements on it are prepared once. Connects lazily.
 */
export function createPool(
  databaseUrl: string,
  log: Logger,
  { connectTimeoutMs = 3000, queryTimeoutMs = 5000 } = {},
): Pool {
  const pool = new Pool({
    ...databaseConnection(databaseUrl),
    max: 3,
    // In milliseconds. pg drops a connection whose statement failed or timed out.
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
  });
  if (!mayPrepare(databaseUrl)) {
    pool.on('connect', withoutNames);
  }

  // An idle connection that broke. The pool has already removed it.
  pool.on('error', ({ name, message }) =>
    log.debug({ name, message }, 'idle database connection lost'),
  );
  return pool;
}

/** Removes the names of statements, because pg prepares named ones. */
function withoutNames(client: { query: (...args: never[]) => unknown }): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  client.query = (first: unknown, ...rest: unknown[]) =>
    typeof first === 'object' && first !== null && 'name' in first && !('submit' in first)
      ? query({ ...first, name: undefined }, ...rest)
      : query(first, ...rest);
}

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
