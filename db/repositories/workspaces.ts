import { sql } from 'kysely';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';

/**
 * Locks a workspace until the transaction ends. Serialises changes that a limit of the workspace or the rights of its
 * keys decide; new rows may still refer to it. The first lock of each transaction that takes it.
 */
export async function lockWorkspace(em: Em, id: string): Promise<void> {
  await query(em, sql`select 1 from workspaces where id = ${id} for no key update`);
}
