import type { Em } from '../../db/orm.ts';
import { selectWorkspaces, type WorkspaceRow } from '../../db/repositories/workspaces.ts';
import { brandOf } from '../../domain/brand.ts';
import { isId } from '../../domain/json-schema.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { cutPage, readCursor } from '../cursor.ts';
import { unknownWorkspace } from './write-workspaces.ts';

export const maxWorkspacePage = 100;

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
  const rows = await selectWorkspaces(em, { after: readCursor(cursor), limit: limit + 1 });
  const { page, nextCursor } = cutPage(rows, limit, (row) => ({
    createdAt: row.created_at,
    id: row.id,
  }));
  return { workspaces: page.map((row) => present(row, quotas)), next_cursor: nextCursor };
}

/** @throws AppError `not_found` */
export async function showWorkspace(em: Em, quotas: Quotas, id: string): Promise<WorkspaceView> {
  const [row] = isId(id) ? await selectWorkspaces(em, { id }) : [];
  if (!row) {
    throw unknownWorkspace(id);
  }

  return present(row, quotas);
}

/**
 * A workspace as an operator sees it: the limits in force, its own brand (a null field has the value of the settings),
 * and how many channels are connected.
 */
const present = (row: WorkspaceRow, quotas: Quotas) => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  quotas: { ...quotas, ...row.quotas },
  brand: brandOf((field) => row.brand[field]),
  channels: row.channels,
  created_at: row.created_at.toISOString(),
  deleted_at: row.deleted_at?.toISOString() ?? null,
});

export type WorkspaceView = ReturnType<typeof present>;
