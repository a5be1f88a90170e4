import { sql } from 'kysely';
import type { actorTypes, AuditAction } from '../../db/audit.ts';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { queryTime } from '../../domain/due-time.ts';
import { encodeCursor, readCursor } from '../cursor.ts';

/** Maximum entries per page. */
export const maxAuditPage = 100;

type AuditSearch = {
  readonly action?: AuditAction;
  readonly object_id?: string;
  /** RFC 3339; inclusive. */
  readonly from?: string;
  /** RFC 3339; exclusive. */
  readonly to?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

type Row = {
  readonly id: string;
  readonly at: Date;
  readonly actor: (typeof actorTypes)[number];
  readonly actor_id: string | null;
  readonly last_four: string | null;
  readonly action: AuditAction;
  readonly object_id: string;
  readonly request_id: string | null;
  readonly address: string | null;
};

/**
 * Lists the changes in a workspace, newest first.
 *
 * @throws AppError `invalid_request` for an invalid time or cursor.
 */
export async function listAudit(em: Em, workspaceId: string, search: AuditSearch) {
  const { action, object_id: objectId, limit = maxAuditPage, cursor } = search;
  const from = search.from === undefined ? undefined : queryTime('from', search.from);
  const to = search.to === undefined ? undefined : queryTime('to', search.to);
  const after = readCursor(cursor);
  const none = sql``;
  const rows = await queryPlanned(
    em,
    sql<Row>`select a.id, a.at, a.actor, a.actor_id, coalesce(k.last_four, o.last_four) as last_four, a.action,
        a.object_id, a.request_id, a.address
      from audit_log a left join api_keys k on k.id = a.actor_id and k.workspace_id = a.workspace_id
        left join operator_keys o on o.id = a.actor_id
      where a.workspace_id = ${workspaceId}
        ${action === undefined ? none : sql`and a.action = ${action}`}
        ${objectId === undefined ? none : sql`and a.object_id = ${objectId}`}
        ${from ? sql`and a.at >= ${from}` : none}
        ${to ? sql`and a.at < ${to}` : none}
        ${after ? sql`and (a.at, a.id) < (${after.createdAt}, ${after.id})` : none}
      order by a.at desc, a.id desc limit ${limit + 1}`,
  );
  const entries = rows.slice(0, limit);
  const last = entries.at(-1);
  const hasMore = last && rows.length > limit;
  return {
    entries: entries.map(present),
    next_cursor: hasMore ? encodeCursor({ createdAt: last.at, id: last.id }) : null,
  };
}

const present = ({ at, actor, actor_id: actorId, last_four: lastFour, action, ...row }: Row) => ({
  id: row.id,
  at: at.toISOString(),
  actor: { type: actor, id: actorId, last_four: lastFour },
  action,
  object_type: action.split('.')[0] ?? '',
  object_id: row.object_id,
  request_id: row.request_id,
  address: row.address,
});
