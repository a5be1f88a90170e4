import { selectAudit, type AuditAction, type AuditRow } from '../../db/audit.ts';
import type { Em } from '../../db/orm.ts';
import { queryTime } from '../../domain/due-time.ts';
import { cutPage, readCursor } from '../cursor.ts';

export const maxAuditPage = 100;

/** From and to are in RFC 3339; to is exclusive. */
type AuditSearch = Readonly<Partial<Record<'object_id' | 'from' | 'to' | 'cursor', string>>> & {
  readonly action?: AuditAction;
  readonly limit?: number;
};

export async function listAudit(em: Em, workspaceId: string, search: AuditSearch) {
  const { action, object_id: objectId, limit = maxAuditPage, cursor } = search;
  const rows = await selectAudit(em, workspaceId, {
    action,
    objectId,
    from: search.from === undefined ? undefined : queryTime('from', search.from),
    to: search.to === undefined ? undefined : queryTime('to', search.to),
    after: readCursor(cursor),
    limit: limit + 1,
  });
  const { page, nextCursor } = cutPage(rows, limit, ({ at, id }) => ({ createdAt: at, id }));
  return { entries: page.map(present), next_cursor: nextCursor };
}

const present = ({ at, actor, actor_id: actorId, action, ...row }: AuditRow) => ({
  id: row.id,
  at: at.toISOString(),
  actor: { type: actor, id: actorId, last_four: row.last_four },
  action,
  object_type: action.split('.')[0] ?? '',
  object_id: row.object_id,
  request_id: row.request_id,
  address: row.address,
});
