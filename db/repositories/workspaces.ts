import { sql } from 'kysely';
import { isId } from '../../domain/json-schema.ts';
import { Workspace } from '../entities/workspaces.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';

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
