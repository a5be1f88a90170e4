import { sql } from 'kysely';
import type { Brand } from '../domain/brand.ts';
import type { Quotas } from '../domain/quotas.ts';
import type { Em } from './orm.ts';
import { queryPlanned } from './query.ts';

export type WorkspaceRow = {
  readonly id: string;
  readonly name: string | null;
  readonly plan: string | null;
  readonly quotas: Partial<Quotas>;
  readonly brand: Partial<Brand>;
  readonly created_at: Date;
  readonly deleted_at: Date | null;
  /** How many channels are connected. */
  readonly channels: number;
};

type Selected = {
  readonly id?: string;
  /** The last workspace of the page before. */
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
