import { sql } from 'kysely';
import type { Brand } from '../../domain/brand.ts';
import { isId } from '../../domain/json-schema.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { Workspace } from '../entities/workspaces.ts';
import type { Em } from '../orm.ts';
import { query, queryPlanned } from '../query.ts';

/**
 * Locks a workspace until the transaction ends. Serialises the changes that depend on a limit of the workspace or on the
 * rights of its keys; new rows may still refer to it.
 *
 * @returns null when there is none, or only its row is left.
 */
export async function lockWorkspace(em: Em, id: string): Promise<Workspace | null> {
  if (!isId(id)) {
    return null;
  }

  await query(em, sql`select 1 from workspaces where id = ${id} for no key update`);
  return em.findOne(Workspace, { id, purgedAt: null }, { refresh: true });
}

export type WorkspaceRow = {
  readonly id: string;
  readonly name: string | null;
  readonly plan: string | null;
  readonly quotas: Partial<Quotas>;
  readonly brand: Partial<Brand>;
  readonly created_at: Date;
  readonly deleted_at: Date | null;
  readonly channels: number;
};

type Selected = {
  readonly id?: string;
  readonly after?: { readonly createdAt: Date; readonly id: string } | undefined;
  readonly limit?: number;
};

/** Selects workspaces with the number of their channels, newest first, including those that are being deleted. */
export function selectWorkspaces(
  em: Em,
  { id, after, limit }: Selected = {},
): Promise<WorkspaceRow[]> {
  const none = sql``;
  return queryPlanned<WorkspaceRow>(
    em,
    sql`select id, name, plan, quotas, brand, created_at, deleted_at, (select count(*)::int from channels c
        where c.workspace_id = w.id and c.disconnected_at is null) as channels
      from workspaces w where purged_at is null
        ${id === undefined ? none : sql`and id = ${id}`}
        ${after ? sql`and (created_at, id) < (${after.createdAt}, ${after.id})` : none}
      order by created_at desc, id desc ${limit === undefined ? none : sql`limit ${limit}`}`,
  );
}
