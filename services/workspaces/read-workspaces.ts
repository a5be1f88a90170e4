import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { brandOf, type Brand } from '../../domain/brand.ts';
import { isId } from '../../domain/json-schema.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { encodeCursor, readCursor } from '../cursor.ts';
import { unknownWorkspace } from './write-workspaces.ts';

/** Maximum workspaces per page. */
export const maxWorkspacePage = 100;

/** A workspace as an operator sees it. */
export type WorkspaceView = {
  readonly id: string;
  readonly name: string | null;
  readonly plan: string | null;
  /** The limits in force. */
  readonly quotas: Quotas;
  /** Its own brand; a null field has the value of the settings. */
  readonly brand: Brand;
  /** How many channels are connected. */
  readonly channels: number;
  readonly created_at: string;
  readonly deleted_at: string | null;
};

type Row = Omit<WorkspaceView, 'quotas' | 'brand' | 'created_at' | 'deleted_at'> & {
  readonly quotas: Partial<Quotas>;
  readonly brand: Partial<Brand>;
  readonly created_at: Date;
  readonly deleted_at: Date | null;
};

const select = (where: RawBuilder<unknown>) => sql<Row>`
  select id, name, plan, quotas, brand, created_at, deleted_at, (select count(*)::int from channels c
    where c.workspace_id = w.id and c.disconnected_at is null) as channels
  from workspaces w where purged_at is null ${where}`;

/**
 * Lists all workspaces, newest first, including those that are being deleted.
 *
 * @param quotas Limits of a workspace without its own.
 * @throws AppError `invalid_request` for an invalid cursor.
 */
export async function listWorkspaces(
  em: Em,
  quotas: Quotas,
  { limit = maxWorkspacePage, cursor }: { readonly limit?: number; readonly cursor?: string },
): Promise<{ readonly workspaces: WorkspaceView[]; readonly next_cursor: string | null }> {
  const after = readCursor(cursor);
  const from = after ? sql`and (created_at, id) < (${after.createdAt}, ${after.id})` : sql``;
  const page = sql`${from} order by created_at desc, id desc limit ${limit + 1}`;
  const rows = await queryPlanned(em, select(page));
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = last && rows.length > limit;
  return {
    workspaces: shown.map((row) => present(row, quotas)),
    next_cursor: hasMore ? encodeCursor({ createdAt: last.created_at, id: last.id }) : null,
  };
}

/** @throws AppError `not_found` */
export async function showWorkspace(em: Em, quotas: Quotas, id: string): Promise<WorkspaceView> {
  const [row] = isId(id) ? await queryPlanned(em, select(sql`and id = ${id}`)) : [];
  if (!row) {
    throw unknownWorkspace(id);
  }

  return present(row, quotas);
}

const present = (row: Row, quotas: Quotas): WorkspaceView => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  quotas: { ...quotas, ...row.quotas },
  brand: brandOf((field) => row.brand[field]),
  channels: row.channels,
  created_at: row.created_at.toISOString(),
  deleted_at: row.deleted_at?.toISOString() ?? null,
});
