import type { Pool } from 'pg';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { hashApiKey } from '../../runtime/secrets.ts';
import { inBatches } from '../rate-limits/in-batches.ts';
import type { Caller } from './route.ts';

/** A caller, and the id of its key. */
export type Authenticated = { readonly keyId: string; readonly caller: Caller };

type Row = {
  readonly id: string;
  readonly workspace_id: string;
  readonly plan: string | null;
  /** Whether its last use was recorded within the last minute. */
  readonly is_recorded: boolean | null;
  readonly quotas: Partial<Quotas>;
};

const findKey = `select k.id, k.workspace_id, w.plan, w.quotas,
    k.last_used_at > now() - interval '1 minute' as is_recorded
  from api_keys k join workspaces w on w.id = k.workspace_id
  where k.hash = $1 and k.revoked_at is null`;

/**
 * Makes a function that finds the caller by an `Authorization` header. The scheme's name is read in any case. The
 * database is asked each time and no answer is kept, so that a key which was revoked opens nothing any more.
 *
 * @param quotas What a workspace may have, where it has no quotas of its own.
 * @param assertOpen Throws while the database may not be asked yet.
 * @returns null for a key that is unknown or was revoked.
 * @throws AppError `unauthorized` when there is no key at all.
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
 * Makes a function that records that a key was used just now, about once a minute over all processes. No call waits
 * for it, and none fails by it: what could not be recorded is recorded at the next one.
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
