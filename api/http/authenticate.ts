import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { hashApiKey } from '../../runtime/token.ts';
import type { Caller } from './route.ts';

type Row = { workspace_id: string; plan: string | null };

/**
 * Who an `Authorization` header speaks for. The scheme's name is read in any case.
 *
 * @throws AppError `unauthorized`
 */
export async function authenticate(em: Em, authorization: string): Promise<Caller> {
  const key = /^bearer +(?<key>\S+) *$/iv.exec(authorization)?.groups?.['key'];
  if (key === undefined) {
    throw new AppError('unauthorized', 'Send your API key as "Authorization: Bearer svc_live_…".');
  }

  const [row] = await em.execute<Row[]>(
    `select k.workspace_id, w.plan from api_keys k join workspaces w on w.id = k.workspace_id
     where k.hash = ? and k.revoked_at is null`,
    [hashApiKey(key)],
  );
  if (!row) {
    throw new AppError('unauthorized', 'This API key is unknown or was revoked.');
  }

  return { workspaceId: row.workspace_id, plan: row.plan };
}
