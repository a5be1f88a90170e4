import type { Em } from '../db/orm.ts';
import { adoptKey } from '../db/secret-key.ts';
import { AppError } from '../domain/errors.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';
import { createApiKey } from './create-workspace.ts';
import { instant } from './posts/words.ts';
import { mustExist } from './workspaces.ts';

type Values = Readonly<Record<string, string>>;
type Row = {
  readonly id: string;
  readonly workspace_id: string;
  readonly last_four: string;
  readonly created_at: Date | string;
  readonly last_used_at: Date | string | null;
  readonly revoked_at: Date | string | null;
};

const columns = 'id, workspace_id, last_four, created_at, last_used_at, revoked_at';

export async function createKey(
  { em }: CommandDeps,
  { WORKSPACE_ID: id = '' }: Values,
): Promise<CommandAnswer> {
  await mustExist(em, id);
  const key = await createApiKey(em, id);
  return { text: `API key, shown this once: ${key}`, data: { workspace_id: id, api_key: key } };
}

/** The keys of a workspace, oldest first, also those that were revoked. */
export async function listKeys(
  { em }: CommandDeps,
  { WORKSPACE_ID: id = '' }: Values,
): Promise<CommandAnswer> {
  await mustExist(em, id);
  const rows = await em.execute<Row[]>(
    `select ${columns} from api_keys where workspace_id = ? order by created_at, id`,
    [id],
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
 * Revokes a key for good. No process keeps a key in its memory, so it holds from the next call on in all of them;
 * calls that were let in before go on to their end. Once more changes nothing.
 *
 * @throws AppError `not_found`, without what was given: it may be the key itself.
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
  const wellFormed = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/v.test(id);
  const [row] = wellFormed
    ? await em.execute<Row[]>(
        `update api_keys set revoked_at = coalesce(revoked_at, now()) where id = ? returning ${columns}`,
        [id],
      )
    : [];
  return row;
}

const present = (row: Row) => ({
  id: row.id,
  last_four: row.last_four,
  created_at: instant(row.created_at),
  last_used_at: instant(row.last_used_at),
  revoked_at: instant(row.revoked_at),
});

/** Says that this SECRET_KEY is the right one from now on, whatever was sealed before. */
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
