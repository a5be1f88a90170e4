import { sql } from 'kysely';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { adoptKey } from '../db/installation.ts';
import { AppError } from '../domain/errors.ts';
import { isId } from '../domain/is-id.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';
import { assertWorkspaceExists, createApiKey } from './workspaces.ts';

type Values = Readonly<Record<string, string>>;
type Row = {
  readonly id: string;
  readonly workspace_id: string;
  readonly last_four: string;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
  readonly revoked_at: Date | null;
};

const columns = sql`id, workspace_id, last_four, created_at, last_used_at, revoked_at`;

export async function createKey(
  { em }: CommandDeps,
  { WORKSPACE_ID: id = '' }: Values,
): Promise<CommandAnswer> {
  await assertWorkspaceExists(em, id);
  const key = await createApiKey(em, id);
  return { text: `API key, shown this once: ${key}`, data: { workspace_id: id, api_key: key } };
}

/** Lists the keys of a workspace, oldest first, including revoked ones. */
export async function listKeys(
  { em }: CommandDeps,
  { WORKSPACE_ID: id = '' }: Values,
): Promise<CommandAnswer> {
  await assertWorkspaceExists(em, id);
  const rows = await query(
    em,
    sql<Row>`select ${columns} from api_keys where workspace_id = ${id} order by created_at, id`,
  );
  const keys = rows.map(present);
  const lines = keys.map(
    (key) =>
      `${key.id}  …${key.last_four}  made ${key.created_at}  ${key.last_used_at ? `last used ${key.last_used_at}` : 'never used'}${key.revoked_at ? `  revoked ${key.revoked_at}` : ''}`,
  );
  return {
    text: lines.join('\n') || `Workspace ${id} has no API key.`,
    data: { workspace_id: id, keys },
  };
}

/**
 * Revokes a key. No process caches keys, so the next call with it fails everywhere; calls that were already admitted
 * finish. A repeated revocation changes nothing.
 *
 * @throws AppError `not_found`, without the given text, which may be the key itself.
 */
export async function revokeKey(
  { em }: CommandDeps,
  { KEY_ID: id = '' }: Values,
): Promise<CommandAnswer> {
  const row = await revoked(em, id);
  if (!row) {
    throw new AppError(
      'not_found',
      'There is no API key with this id; "npm run admin -- key list WORKSPACE_ID" shows the ids.',
    );
  }

  const key = present(row);
  return {
    text: `API key ${key.id} (…${key.last_four}) of workspace ${row.workspace_id} is revoked since ${key.revoked_at}`,
    data: { workspace_id: row.workspace_id, key },
  };
}

async function revoked(em: Em, id: string): Promise<Row | undefined> {
  const [row] = isId(id)
    ? await query(
        em,
        sql<Row>`update api_keys set revoked_at = coalesce(revoked_at, now()) where id = ${id} returning ${columns}`,
      )
    : [];
  return row;
}

const present = (row: Row) => ({
  id: row.id,
  last_four: row.last_four,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
});

/** Accepts the current SECRET_KEY for this database. */
export async function adoptSecretKey({ orm, sealer }: CommandDeps): Promise<CommandAnswer> {
  const { keyId } = sealer;
  const changed = await adoptKey(orm, keyId);
  return {
    text: changed
      ? `SECRET_KEY (${keyId}) is the one of this database now. Processes that still run with another one end within seconds; start them with this one. What was sealed under another one cannot be opened: connect each account anew, and register each webhook endpoint anew.`
      : `SECRET_KEY (${keyId}) is the one of this database already: nothing was changed.`,
    data: { secret_key: keyId, changed },
  };
}
