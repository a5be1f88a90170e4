import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import type { ServiceDeps } from '../deps.ts';

type WorkspaceSummary = {
  readonly id: string;
  readonly name: string | null;
  /** How many channels it has. */
  readonly channels: number;
};

/** Describes the workspace that a key acts for. */
export async function readWorkspace(
  { orm }: Pick<ServiceDeps, 'orm'>,
  workspaceId: string,
): Promise<WorkspaceSummary> {
  const [row] = await query<WorkspaceSummary>(
    orm.em.fork(),
    sql`select id, name, (select count(*)::int from channels c
           where c.workspace_id = w.id and c.disconnected_at is null) as channels
         from workspaces w where id = ${workspaceId}`,
  );
  return row ?? { id: '', name: null, channels: 0 };
}
