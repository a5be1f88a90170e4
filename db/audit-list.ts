import { sql } from 'kysely';
import type { actorTypes, AuditAction } from './audit.ts';
import type { Em } from './orm.ts';
import { queryPlanned } from './query.ts';

export type AuditRow = {
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

type AuditFilter = {
  readonly action?: AuditAction | undefined;
  readonly objectId?: string | undefined;
  /** Inclusive. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
  /** The last entry of the page before. */
  readonly after?: { readonly createdAt: Date; readonly id: string } | undefined;
  readonly limit: number;
};

/** Selects the changes in a workspace, newest first, each with the end of its key. */
export function selectAudit(
  em: Em,
  workspaceId: string,
  { action, objectId, from, to, after, limit }: AuditFilter,
): Promise<AuditRow[]> {
  const none = sql``;
  return queryPlanned<AuditRow>(
    em,
    sql`select a.id, a.at, a.actor, a.actor_id, coalesce(k.last_four, o.last_four) as last_four, a.action,
        a.object_id, a.request_id, a.address
      from audit_log a left join api_keys k on k.id = a.actor_id and k.workspace_id = a.workspace_id
        left join operator_keys o on o.id = a.actor_id
      where a.workspace_id = ${workspaceId}
        ${action === undefined ? none : sql`and a.action = ${action}`}
        ${objectId === undefined ? none : sql`and a.object_id = ${objectId}`}
        ${from ? sql`and a.at >= ${from}` : none}
        ${to ? sql`and a.at < ${to}` : none}
        ${after ? sql`and (a.at, a.id) < (${after.createdAt}, ${after.id})` : none}
      order by a.at desc, a.id desc limit ${limit}`,
  );
}
