import { sql } from 'kysely';
import { recordAudit, type Origin } from '../../db/audit.ts';
import { query } from '../../db/query.ts';
import { isId } from '../../domain/json-schema.ts';
import type { ServiceDeps } from '../deps.ts';
import { unknownWorkspace } from './write-workspaces.ts';

/**
 * Ends a workspace: from the commit on its keys and links are refused, and no post and no webhook of it is sent, because
 * the secrets of its accounts are erased. The sweep deletes its rows and files (`activities/sweep/purge-workspaces.ts`).
 * A repeated call changes nothing.
 *
 * Locks in the order in which accounts are connected: the workspace, its channels, their grants and links.
 *
 * @throws AppError `not_found`
 */
export async function deleteWorkspace(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  origin: Origin,
  id: string,
): Promise<void> {
  const own = sql`workspace_id = ${id}`;
  const at = now();
  await orm.em.fork().transactional(async (em) => {
    const [found] = isId(id)
      ? await query(
          em,
          sql<{ deleted_at: Date | null }>`select deleted_at from workspaces
            where id = ${id} and purged_at is null for no key update`,
        )
      : [];
    if (!found) {
      throw unknownWorkspace(id);
    }

    if (found.deleted_at) {
      return;
    }

    await query(em, sql`update workspaces set deleted_at = ${at} where id = ${id}`);
    await query(
      em,
      sql`update api_keys set revoked_at = ${at} where ${own} and revoked_at is null`,
    );
    await query(em, sql`select id from channels where ${own} order by id for update`);
    await query(
      em,
      sql`update channels set disconnected_at = coalesce(disconnected_at, ${at}), state = 'needs_reconnect',
          error = null, options = null, sealed_credentials = '', sealed_session = null, updated_at = ${at}
        where ${own}`,
    );
    await query(em, sql`delete from channel_grants where ${own}`);
    await query(em, sql`delete from connect_links where ${own}`);
    await query(
      em,
      sql`update webhook_endpoints set disabled_at = ${at}, disabled_reason = 'requested'
        where ${own} and disabled_at is null`,
    );
    await recordAudit(em, { ...origin, workspaceId: id }, 'workspace.deleted', id);
  });
}
