import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { keyColumns, presentKey, type KeyRow, type KeyView } from '../keys/read-keys.ts';

type WorkspaceSummary = {
  readonly id: string;
  readonly name: string | null;
  /** How many channels it has. */
  readonly channels: number;
  /** The key of the call. */
  readonly key: KeyView;
};

type Row = Omit<WorkspaceSummary, 'key' | 'id' | 'name'> &
  KeyRow & { readonly workspace_name: string | null };

/** Describes the workspace that a key acts for, and the key. */
export async function readWorkspace(
  { orm }: Pick<ServiceDeps, 'orm'>,
  { workspaceId, keyId }: Pick<Caller, 'workspaceId' | 'keyId'>,
): Promise<WorkspaceSummary> {
  const [row] = await query(
    orm.em.fork(),
    sql<Row>`select ${keyColumns},
        (select w.name from workspaces w where w.id = k.workspace_id) as workspace_name,
        (select count(*)::int from channels c
          where c.workspace_id = k.workspace_id and c.disconnected_at is null) as channels
      from api_keys k where id = ${keyId} and workspace_id = ${workspaceId}`,
  );
  if (!row) {
    throw new Error('The key of this call has no row.');
  }

  const { workspace_name: name, channels } = row;
  return { id: workspaceId, name, channels, key: presentKey(row) };
}
