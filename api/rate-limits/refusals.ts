import type { Pool } from 'pg';
import { RateLimiterPostgres } from 'rate-limiter-flexible';
import { sha256Hex } from '../../runtime/secrets.ts';

/** A sign-in with a secret that a person typed. */
export type SignIn = {
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

const windowSeconds = 300;

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
      duration: windowSeconds,
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
