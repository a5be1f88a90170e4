import type { Pool } from 'pg';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { hashApiKey } from '../../runtime/secrets.ts';
import { inBatches } from '../rate-limits/in-batches.ts';
import type { Caller } from './route.ts';

/** A caller and the id of its key. */
export type Authenticated = { readonly keyId: string; readonly caller: Caller };

type Row = {
  readonly id: string;
  readonly workspace_id: string;
  readonly plan: string | null;
  /** Whether the last use was recorded within the last minute. */
  readonly is_recorded: boolean | null;
  readonly quotas: Partial<Quotas>;
};

const findKey = `select k.id, k.workspace_id, w.plan, w.quotas,
    k.last_used_at > now() - interval '1 minute' as is_recorded
  from api_keys k join workspaces w on w.id = k.workspace_id
  where k.hash = $1 and k.revoked_at is null`;

/**
 * Returns a function that finds the caller by an `Authorization` header. The scheme is case-insensitive. Every call
 * queries the database, so that a revoked key stops working immediately.
 *
 * @param quotas Defaults for a workspace without quotas of its own.
 * @param assertOpen Throws while the database is not ready.
 * @returns null for a key that is unknown or revoked.
 * @throws AppError `unauthorized` when the header has no key.
 */
export function authenticator(
  pool: Pool,
  quotas: Quotas,
  assertOpen: () => void,
): (header: string) => Promise<Authenticated | null> {
  const recordUse = lastUseRecorder(pool);
  const find = inBatches(async (hash) => {
    const { rows } = await pool.query<Row>({ name: 'authenticate', text: findKey, values: [hash] });
    const [row] = rows;
    if (row && !row.is_recorded) {
      recordUse(row.id);
    }

    return row;
  });
  return async (header) => {
    const key = /^bearer +(?<key>\S+) *$/iv.exec(header)?.groups?.['key'];
    if (key === undefined) {
      throw new AppError(
        'unauthorized',
        'Send your API key as "Authorization: Bearer svc_live_…".',
      );
    }

    assertOpen();
    const { result: row } = await find(hashApiKey(key));
    if (!row) {
      return null;
    }

    const { id: keyId, workspace_id: workspaceId, plan, quotas: own } = row;
    return { keyId, caller: { workspaceId, plan, quotas: { ...quotas, ...own } } };
  };
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
