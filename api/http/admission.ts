import type { Context } from 'koa';
import type { Pool } from 'pg';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { RateLimits } from '../../runtime/config/read-config.ts';
import type { Caller, Operator } from '../../services/context.ts';
import { createTurns } from '../../services/turns.ts';
import { clientAddress, originOf } from '../rate-limits/client-address.ts';
import {
  createConcurrencyLimit,
  createLimiter,
  rateLimitHeaders,
  type Standing,
} from '../rate-limits/limiter.ts';
import { authenticator, rightsReader, wrongKey } from './authenticate.ts';

// Simultaneous calls in this process: of a key that wait for events, which take no slots from its other calls; of a
// workspace for CSV, which hold megabytes of texts each, and with a large body, which may take a minute to arrive.
const [mostWaiting, mostExports, mostLarge] = [10, 3, 2];

/**
 * Simultaneous calls of a workspace and of a key that are neither uploads nor wait for other servers. Each holds a
 * connection to the database while it waits for a lock, and validation takes up to 0.1 s of the only processor.
 */
const turns = { all: 3, each: 2 };

/** A workspace has the calls of so many keys with all its keys, so that keys that make keys gain nothing. */
const keysWorth = 10;

type Kind = {
  /** Takes a slot for waiting calls. */
  readonly waits?: boolean | undefined;
  readonly isForOperators?: boolean | undefined;
};

type Allowances = {
  /** Concurrent requests of a key in this process; 0 is unlimited. */
  readonly maxConcurrent: number;
  /** For workspaces without quotas of their own. */
  readonly quotas: Quotas;
};

export function createAdmission(
  pool: Pool,
  limits: RateLimits,
  { maxConcurrent, quotas }: Allowances,
  assertOpen: () => void = () => undefined,
) {
  const takeSlot = createConcurrencyLimit(maxConcurrent, 'with this API key');
  const takeWaitingSlot = createConcurrencyLimit(mostWaiting, 'with this API key');
  const holdLargeBody = createConcurrencyLimit(mostLarge, 'of this workspace with a large body');
  const holdExport = createConcurrencyLimit(mostExports, 'of this workspace for CSV');
  const calls = callCounter(limits);
  const countInWorkspace = workspaceLimit(limits, maxConcurrent);
  const refuseWrongKey = wrongKeyRefusal(limits);
  const authenticate = authenticator(pool, quotas, assertOpen);

  /** Authenticates a call and applies the rate limits. */
  async function admit(
    ctx: Context,
    isWrite: boolean,
    { waits = false, isForOperators = false }: Kind = {},
  ): Promise<Caller | Operator> {
    const known = await authenticate(ctx.get('authorization'));
    if (!known) {
      return refuseWrongKey(ctx);
    }

    Object.assign(ctx.state, { keyId: known.keyId, workspaceId: known.caller?.workspaceId });
    const standings = await calls.count(known.keyId, isWrite);
    ctx.set(rateLimitHeaders(calls.policies, standings));
    const refusal = standings.find(({ refused }) => refused);
    if (refusal) {
      throw tooMany(refusal, `${refusal.policy.name} with this API key`);
    }

    if (known.caller) {
      await countInWorkspace(ctx, known.caller.workspaceId, { isWrite, waits });
    }

    if (isForOperators !== (known.caller === null)) {
      throw new AppError('wrong_key_type', isForOperators ? needsOperator : needsWorkspace);
    }

    (waits ? takeWaitingSlot : takeSlot)(ctx, known.keyId);
    return { ...(known.caller ?? { operatorKeyId: known.keyId }), ...originOf(ctx) };
  }

  return {
    admit,
    /** Throws `unauthorized` when the key of an admitted caller has ended. */
    readAgain: rightsReader(pool, quotas),
    holdLargeBody,
    holdExport,
    inTurn: createTurns(turns),
    callsOf: calls.of,
  };
}

export type Admission = ReturnType<typeof createAdmission>;

/** Counts the calls of each key or workspace. One beyond the quota of requests does not count as a write. */
function callCounter({ requests, writes }: RateLimits, prefix = '', keys = 1) {
  const ofRequests = { name: `${prefix}requests`, quota: keys * requests };
  const ofWrites = { name: `${prefix}writes`, quota: keys * writes };
  const [countRequests, countWrites] = [createLimiter(ofRequests), createLimiter(ofWrites)];
  return {
    policies: [ofRequests, ofWrites],
    count: async (id: string, isWrite: boolean): Promise<Standing[]> => {
      const asRequest = await countRequests.count(id);
      return isWrite && !asRequest.refused ? [asRequest, await countWrites.count(id)] : [asRequest];
    },
    of: async (id: string) => ({
      requests: await countRequests.used(id),
      writes: await countWrites.used(id),
    }),
  };
}

function workspaceLimit(limits: RateLimits, maxConcurrent: number) {
  const { count, policies } = callCounter(limits, 'workspace-', keysWorth);
  const takeSlot = createConcurrencyLimit(keysWorth * maxConcurrent, 'of this workspace');
  return async (ctx: Context, workspaceId: string, { isWrite = false, waits = false }) => {
    if (!waits) {
      takeSlot(ctx, workspaceId);
    }

    const standings = await count(workspaceId, isWrite);
    const refusal = standings.find(({ refused }) => refused);
    if (refusal) {
      ctx.set(rateLimitHeaders(policies, [refusal]));
      throw tooMany(refusal, 'calls of this workspace with all its API keys');
    }
  };
}

/** From an address that sent many wrong keys a valid one is still accepted, since clients may share an address. */
function wrongKeyRefusal({ wrongKeys: quota }: RateLimits) {
  const policy = { name: 'wrong-keys', quota };
  const calls = createLimiter(policy);
  return async (ctx: Context): Promise<never> => {
    const standing = await calls.count(clientAddress(ctx.ip));
    if (standing.refused) {
      ctx.set(rateLimitHeaders([policy], [standing]));
      throw tooMany(standing, 'calls with a wrong API key from your address');
    }

    throw wrongKey();
  };
}

function tooMany({ policy, resetSeconds }: Standing, what: string): AppError {
  const message = `More than ${policy.quota} ${what} in a minute. Try again in ${resetSeconds} s.`;
  return new AppError('rate_limited', message, { retryAfter: resetSeconds });
}

const needsOperator =
  'This call manages workspaces and needs an operator key (svc_admin_…); an API key acts within its workspace only.';
const needsWorkspace =
  'This call acts within a workspace and needs one of its API keys (svc_live_…); an operator key only manages workspaces.';
