import { setImmediate } from 'node:timers/promises';
import { Pool, type QueryConfig } from 'pg';
import { isUsableKey } from '../../db/audit.ts';
import { mayPrepare } from '../../db/pool.ts';
import { scopesOf, type Scope } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { databaseConnection } from '../../runtime/config/database-connection.ts';
import type { Logger } from '../../runtime/logger.ts';
import { hashApiKey, operatorKeyPrefix } from '../../runtime/secrets.ts';
import type { Caller, Operator } from '../../services/context.ts';

/** A caller and the id of its key. An operator key has no workspace. */
type Authenticated = {
  readonly keyId: string;
  readonly caller: Caller | null;
};

type Row = {
  readonly id: string;
  readonly hash: string;
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

const keysWith = (condition: string): string => `
  select k.id, k.hash, k.workspace_id, k.scopes, k.channel_ids, w.plan, w.quotas,
    k.last_used_at > now() - interval '1 minute' as is_recorded
  from api_keys k join workspaces w on w.id = k.workspace_id
  where ${condition} and ${isUsableKey} and w.deleted_at is null`;

const findKeys = { name: 'authenticate', text: keysWith('k.hash in (select unnest($1::text[]))') };
const findRights = { name: 'rights', text: keysWith('k.id = $1') };

const operatorsWith = (condition: string): string =>
  `select id, hash from operator_keys where ${condition} and ${isUsableKey}`;
const findOperators = { text: operatorsWith('hash in (select unnest($1::text[]))') };
const findOperatorRights = { text: operatorsWith('id = $1') };
/** Operators call seldom, so each call records its use. */
const recordOperatorUse = 'update operator_keys set last_used_at = now() where id = $1';

/**
 * Returns a function that finds the caller by an `Authorization` header, or null. Each call waits for a statement sent
 * after it came, so that a revoked or changed key has its effect immediately.
 *
 * @param quotas Defaults for a workspace without quotas of its own.
 * @param assertOpen Throws while the database is not ready.
 */
export function authenticator(
  pool: Pool,
  quotas: Quotas,
  assertOpen: () => void,
): (header: string) => Promise<Authenticated | null> {
  const recordUse = lastUseRecorder(pool);
  const find = keyFinder(pool, findKeys);
  const findOperator = keyFinder(pool, findOperators);
  return async (header) => {
    const key = /^bearer +(?<key>\S+) *$/iv.exec(header)?.groups?.['key'];
    if (key === undefined) {
      const message = 'Send your API key as "Authorization: Bearer svc_live_…".';
      throw new AppError('unauthorized', message);
    }

    assertOpen();
    const hash = hashApiKey(key);
    if (key.startsWith(operatorKeyPrefix)) {
      const operator = await findOperator(hash);
      if (operator) {
        await pool.query(recordOperatorUse, [operator.id]);
      }

      return operator ? { keyId: operator.id, caller: null } : null;
    }

    const row = await find(hash);
    if (row && !row.is_recorded) {
      recordUse(row.id);
    }

    return row ? { keyId: row.id, caller: callerOf(row, quotas) } : null;
  };
}

/** Calls that arrive together share one statement, so that many wrong keys do not keep valid ones waiting. */
function keyFinder(pool: Pool, statement: QueryConfig): (hash: string) => Promise<Row | undefined> {
  let gathering: Promise<Map<string, Row>> | undefined;
  let hashes = new Set<string>();
  const send = async (): Promise<Map<string, Row>> => {
    await setImmediate();
    const values = [[...hashes]];
    [gathering, hashes] = [undefined, new Set()];
    const { rows } = await pool.query<Row>({ ...statement, values });
    return new Map(rows.map((row) => [row.hash, row]));
  };
  return async (hash) => {
    hashes.add(hash);
    gathering ??= send();
    return (await gathering).get(hash);
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

/** Does not wait for changes that hold the key: a later use records the time. */
const recordLastUse = `update api_keys set last_used_at = now() where id = (select id from api_keys
  where id = $1 and (last_used_at is null or last_used_at <= now() - interval '1 minute')
  for no key update skip locked)`;

/** Records the use of a key about once a minute. Calls do not wait for it; the next use repeats a failed update. */
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
  new AppError(
    'unauthorized',
    'This API key is unknown, has expired or was revoked. Check the address of the service. GET /api/v1/keys lists keys, if you have another with the scope keys; the operator of the service can make one.',
  );

export function rightsReader(
  pool: Pool,
  quotas: Quotas,
): <C extends Caller | Operator>(caller: C) => Promise<C> {
  return async (caller) => {
    const statement =
      'keyId' in caller
        ? { ...findRights, values: [caller.keyId] }
        : { ...findOperatorRights, values: [caller.operatorKeyId] };
    const { rows } = await pool.query<Row>(statement);
    const [row] = rows;
    if (!row) {
      throw wrongKey();
    }

    return 'keyId' in caller ? { ...caller, ...callerOf(row, quotas) } : caller;
  };
}

/** A small pool apart from the ORM's, so that calls that hold all of its connections do not delay refusals. */
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
