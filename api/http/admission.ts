import type { Context } from 'koa';
import type { Pool } from 'pg';
import { scopes as allScopes, type Scope } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { RateLimits } from '../../runtime/config/read-config.ts';
import { hashApiKey, operatorKeyPrefix } from '../../runtime/secrets.ts';
import type { Caller, Operator } from '../../services/context.ts';
import { clientAddress, originOf } from '../rate-limits/client-address.ts';
import {
  countingCalls,
  createConcurrencyLimit,
  createLimiter,
  rateLimitHeaders,
  standingOf,
  type KeyCounts,
  type Standing,
} from '../rate-limits/limiter.ts';

/**
 * Authenticates a call and applies the rate limits.
 *
 * @throws AppError `unauthorized`; `wrong_key_type`; `rate_limited` when the key has used up its calls or has too many
 *   under way, or when this address sent many wrong keys (a valid key is still accepted from there, since clients may
 *   share an address); `unavailable` while the database is not ready.
 */
export type Admission = (
  ctx: Context,
  isWrite: boolean,
  /** `waits`: takes a slot for waiting calls. `isForOperators`: needs an operator key. */
  kind?: { readonly waits?: boolean | undefined; readonly isForOperators?: boolean | undefined },
) => Promise<Caller | Operator>;

/** Calls of a key that wait for events at the same time, in this process. They take no slots from its other calls. */
const mostWaiting = 10;

/** Limits per key and default quotas. */
type Allowances = {
  /** Concurrent requests of a key in this process; 0 is unlimited. */
  readonly maxConcurrent: number;
  /** For workspaces without quotas of their own. */
  readonly quotas: Quotas;
};

/** @param assertOpen Throws while the database is not ready. */
export function createAdmission(
  pool: Pool,
  limits: RateLimits,
  { maxConcurrent, quotas }: Allowances,
  assertOpen: () => void = () => undefined,
): Admission {
  const takeSlot = createConcurrencyLimit(maxConcurrent);
  const takeWaitingSlot = createConcurrencyLimit(mostWaiting);
  const requestPolicy = { name: 'requests', quota: limits.requests };
  const writePolicy = { name: 'writes', quota: limits.writes };
  const wrongKeyPolicy = { name: 'wrong-keys', quota: limits.wrongKeys };
  const countWrongKey = createLimiter(pool, wrongKeyPolicy);
  const authenticate = authenticator(pool, limits.requests, quotas, assertOpen);

  function standingsOf({ requests, requests_ms, writes, writes_ms }: KeyCounts): Standing[] {
    const asRequest = standingOf(requestPolicy, requests, requests_ms);
    return writes === null
      ? [asRequest]
      : [asRequest, standingOf(writePolicy, writes, writes_ms ?? 0)];
  }

  async function refuseWrongKey(ctx: Context): Promise<never> {
    const standing = await countWrongKey(clientAddress(ctx.ip));
    if (standing.refused) {
      ctx.set(rateLimitHeaders([wrongKeyPolicy], [standing]));
      throw tooMany(standing, 'calls with a wrong API key from your address');
    }

    throw new AppError('unauthorized', 'This API key is unknown, has expired or was revoked.');
  }

  return async (ctx, isWrite, { waits = false, isForOperators = false } = {}) => {
    const known = await authenticate(ctx.get('authorization'), isWrite);
    if (!known) {
      return refuseWrongKey(ctx);
    }

    Object.assign(ctx.state, { keyId: known.keyId, workspaceId: known.caller?.workspaceId });
    const standings = standingsOf(known.counts);
    ctx.set(rateLimitHeaders([requestPolicy, writePolicy], standings));
    const refusal = standings.find(({ refused }) => refused);
    if (refusal) {
      throw tooMany(refusal, `${refusal.policy.name} with this API key`);
    }

    if (isForOperators !== (known.caller === null)) {
      throw new AppError('wrong_key_type', isForOperators ? needsOperator : needsWorkspace);
    }

    (waits ? takeWaitingSlot : takeSlot)(ctx, known.keyId);
    return { ...(known.caller ?? { operatorKeyId: known.keyId }), ...originOf(ctx) };
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

/** A caller and the id of its key. An operator key has no workspace. */
type Authenticated = {
  readonly keyId: string;
  readonly caller: Caller | null;
  readonly counts: KeyCounts;
};

type Row = KeyCounts & {
  readonly id: string;
  readonly workspace_id: string;
  readonly plan: string | null;
  /** Whether the last use was recorded within the last minute. */
  readonly is_recorded: boolean | null;
  readonly quotas: Partial<Quotas>;
  /** Null for all. */
  readonly scopes: readonly Scope[] | null;
  /** Null for all. */
  readonly channel_ids: readonly string[] | null;
};

const findKey = `select k.id, k.workspace_id, k.scopes, k.channel_ids, w.plan, w.quotas,
    k.last_used_at > now() - interval '1 minute' as is_recorded
  from api_keys k join workspaces w on w.id = k.workspace_id
  where k.hash = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    and w.deleted_at is null`;

const admitKey = countingCalls(findKey);

/** Operators call seldom, so each call records its use. */
const admitOperatorKey = countingCalls(`update operator_keys set last_used_at = now()
  where hash = $1 and revoked_at is null returning id`);

/**
 * Returns a function that finds the caller by an `Authorization` header, and counts the call. The scheme is
 * case-insensitive. Every call queries the database, so that a revoked or changed key has its effect immediately.
 *
 * @param mostRequests Of a key per minute. A call beyond them does not count as a write.
 * @param quotas Defaults for a workspace without quotas of its own.
 * @param assertOpen Throws while the database is not ready.
 * @returns null for a key that is unknown, expired or revoked.
 * @throws AppError `unauthorized` when the header has no key.
 */
function authenticator(
  pool: Pool,
  mostRequests: number,
  quotas: Quotas,
  assertOpen: () => void,
): (header: string, isWrite: boolean) => Promise<Authenticated | null> {
  const recordUse = lastUseRecorder(pool);
  const find = keyFinder(pool, mostRequests);
  return async (header, isWrite) => {
    const key = /^bearer +(?<key>\S+) *$/iv.exec(header)?.groups?.['key'];
    if (key === undefined) {
      throw new AppError(
        'unauthorized',
        'Send your API key as "Authorization: Bearer svc_live_…".',
      );
    }

    assertOpen();
    const hash = hashApiKey(key);
    if (key.startsWith(operatorKeyPrefix)) {
      const values = [hash, [isWrite], mostRequests];
      const found = await pool.query<Pick<Row, 'id'> & KeyCounts>(admitOperatorKey, values);
      const [operator] = found.rows;
      return operator ? { keyId: operator.id, caller: null, counts: operator } : null;
    }

    const row = await find(hash, isWrite);
    if (!row) {
      return null;
    }

    if (!row.is_recorded) {
      recordUse(row.id);
    }

    const caller = {
      workspaceId: row.workspace_id,
      keyId: row.id,
      scopes: row.scopes ?? allScopes,
      channelIds: row.channel_ids,
      plan: row.plan,
      quotas: { ...quotas, ...row.quotas },
    };
    return { keyId: row.id, caller, counts: row };
  };
}

/** Calls with one key that share a statement. */
type Batch = {
  /** For each call whether it is a write. */
  readonly calls: boolean[];
  isSent: boolean;
  /** The row of the key, with its calls after this batch. */
  readonly row: Promise<Row | undefined>;
};

/**
 * Returns a function that finds a key by its hash, and counts the call. Calls that come while a statement for their key
 * is under way share the next one, so that a flood with one key takes one connection. A call waits for two statements at
 * most.
 */
function keyFinder(pool: Pool, mostRequests: number) {
  const newestBatches = new Map<string, Batch>();

  function startBatch(hash: string, before: Promise<unknown> | undefined): Batch {
    const send = async (): Promise<Row | undefined> => {
      await before?.catch(() => undefined); // Its own calls report its failure.
      batch.isSent = true;
      const values = [hash, batch.calls, mostRequests];
      const { rows } = await pool.query<Row>({ name: 'authenticate', text: admitKey, values });
      return rows[0];
    };
    // In a microtask, so that the batch contains its first call when it is sent.
    const batch: Batch = { calls: [], isSent: false, row: Promise.resolve().then(send) };
    return batch;
  }

  return async (hash: string, isWrite: boolean): Promise<Row | undefined> => {
    let batch = newestBatches.get(hash);
    if (!batch || batch.isSent) {
      batch = startBatch(hash, batch?.row);
      newestBatches.set(hash, batch);
    }

    const rank = batch.calls.push(isWrite);
    try {
      const row = await batch.row;
      return row && { ...row, ...countsAt(row, batch.calls, rank, mostRequests) };
    } finally {
      if (newestBatches.get(hash) === batch) {
        newestBatches.delete(hash);
      }
    }
  };
}

/** The counts after one call of a batch, from those after the batch. @param rank The call's, from 1. */
function countsAt(
  after: KeyCounts,
  calls: readonly boolean[],
  rank: number,
  mostRequests: number,
): Pick<KeyCounts, 'requests' | 'writes'> {
  const before = after.requests - calls.length;
  const requests = before + rank;
  const isCountedWrite = calls[rank - 1] === true && requests <= mostRequests;
  if (after.writes === null || !isCountedWrite) {
    return { requests, writes: null };
  }

  const laterWrites = calls.slice(rank, mostRequests - before).filter(Boolean).length;
  return { requests, writes: after.writes - laterWrites };
}

const recordLastUse = `update api_keys set last_used_at = now()
  where id = $1 and (last_used_at is null or last_used_at <= now() - interval '1 minute')`;

/**
 * Returns a function that records the use of a key about once a minute, over all processes. Calls do not wait for it,
 * and a failed update is repeated at the next use.
 */
function lastUseRecorder(pool: Pool): (keyId: string) => void {
  const underWay = new Set<string>();
  return (keyId) => {
    if (underWay.has(keyId)) {
      return;
    }

    underWay.add(keyId);
    pool
      .query({ name: 'last-use', text: recordLastUse, values: [keyId] })
      .catch(() => undefined)
      .finally(() => underWay.delete(keyId));
  };
}
