import type { Pool } from 'pg';
import { scopesOf, type Scope } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { hashApiKey, operatorKeyPrefix } from '../../runtime/secrets.ts';
import type { Caller, Operator } from '../../services/context.ts';
import { countingCalls, type KeyCounts } from '../rate-limits/limiter.ts';

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

const isUsable = 'revoked_at is null and (expires_at is null or expires_at > now())';

const findKey = (
  by: string,
): string => `select k.id, k.workspace_id, k.scopes, k.channel_ids, w.plan, w.quotas,
    k.last_used_at > now() - interval '1 minute' as is_recorded
  from api_keys k join workspaces w on w.id = k.workspace_id
  where ${by} and ${isUsable} and w.deleted_at is null`;

const admitKey = countingCalls(findKey('k.hash = $1'));

/** Operators call seldom, so each call records its use. */
const admitOperatorKey = countingCalls(`update operator_keys set last_used_at = now()
  where hash = $1 and ${isUsable} returning id`);

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
export function authenticator(
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

    return { keyId: row.id, caller: callerOf(row, quotas), counts: row };
  };
}

const callerOf = (row: Row, quotas: Quotas): Caller => ({
  workspaceId: row.workspace_id,
  keyId: row.id,
  scopes: scopesOf(row.scopes),
  channelIds: row.channel_ids,
  plan: row.plan,
  quotas: { ...quotas, ...row.quotas },
});

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

/** Does not wait for changes that hold the key: a later use records the time. */
const recordLastUse = `update api_keys set last_used_at = now() where id = (select id from api_keys
  where id = $1 and (last_used_at is null or last_used_at <= now() - interval '1 minute')
  for no key update skip locked)`;

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

export const wrongKey = (): AppError =>
  new AppError('unauthorized', 'This API key is unknown, has expired or was revoked.');

/** Returns a function that reads the rights of an admitted caller's key again, without counting a call. */
export function rightsReader(
  pool: Pool,
  quotas: Quotas,
): <C extends Caller | Operator>(caller: C) => Promise<C> {
  return async (caller) => {
    const values = ['keyId' in caller ? caller.keyId : caller.operatorKeyId];
    const statement =
      'keyId' in caller
        ? { name: 'rights', text: findKey('k.id = $1'), values }
        : { text: `select from operator_keys where id = $1 and ${isUsable}`, values };
    const { rows } = await pool.query<Row>(statement);
    const [row] = rows;
    if (!row) {
      throw wrongKey();
    }

    return 'keyId' in caller ? { ...caller, ...callerOf(row, quotas) } : caller;
  };
}
