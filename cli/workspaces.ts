import { sql } from 'kysely';
import { ApiKey, Workspace } from '../db/entities/workspaces.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { AppError } from '../domain/errors.ts';
import { isId } from '../domain/json-schema.ts';
import { hashApiKey, newApiKey } from '../runtime/secrets.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';
import { oneLine } from './format.ts';

/** In UTF-16 code units. */
const longestName = 200;

type Values = Readonly<Record<string, string>>;
type WorkspaceRow = {
  readonly id: string;
  readonly name: string | null;
  readonly plan: string | null;
  readonly channels: number;
};

export async function createNamedWorkspace(
  { em }: CommandDeps,
  { NAME: given = '' }: Values,
): Promise<CommandAnswer> {
  const name = given.trim();
  if (/^[\p{Z}\p{C}]*$/v.test(name)) {
    throw new AppError('invalid_request', 'The name of a workspace must not be blank.');
  }

  if (name.length > longestName || oneLine(name) !== name) {
    const message = `A workspace's name has at most ${longestName} characters, and no control characters.`;
    throw new AppError('invalid_request', message);
  }

  const id = await createWorkspace(em, name);
  const key = await createApiKey(em, id);
  return {
    text: `Workspace ${id} (${name})\nAPI key, shown this once: ${key}`,
    data: { workspace_id: id, name, api_key: key },
  };
}

export async function listWorkspaces({ em }: CommandDeps): Promise<CommandAnswer> {
  const rows = await query(
    em,
    sql<WorkspaceRow>`select id, name, plan, (select count(*)::int from channels c
               where c.workspace_id = w.id and c.disconnected_at is null) as channels
             from workspaces w order by created_at`,
  );
  const lines = rows.map(
    ({ id, name, plan, channels }) =>
      `${id}  ${channels} channels  ${plan === null ? 'no plan' : `plan ${plan}`}  ${oneLine(name ?? '')}`,
  );
  return { text: lines.join('\n') || 'There is no workspace yet.', data: { workspaces: rows } };
}

/**
 * Sets the plan of a workspace. All plans are equal. Without a plan, creating, changing and retrying posts fails with
 * 402 from the next call on; scheduled posts are still published.
 */
export async function setPlan(
  { em }: CommandDeps,
  { WORKSPACE_ID: id = '', 'PLAN|none': given = '' }: Readonly<Record<string, string>>,
): Promise<CommandAnswer> {
  if (!/^[a-z][a-z0-9\-]{0,49}$/v.test(given)) {
    throw new AppError(
      'invalid_request',
      `A plan is a word of at most 50 lower-case letters, digits and hyphens, or "none"; not "${given}".`,
    );
  }

  await assertWorkspaceExists(em, id);
  const plan = given === 'none' ? null : given;
  await query(em, sql`update workspaces set plan = ${plan} where id = ${id}`);
  return {
    text: plan === null ? `Workspace ${id} has no plan` : `Workspace ${id} has the plan ${plan}`,
    data: { workspace_id: id, plan },
  };
}

type KeyRow = {
  readonly id: string;
  readonly workspace_id: string;
  readonly last_four: string;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
  readonly revoked_at: Date | null;
};

const keyColumns = sql`id, workspace_id, last_four, created_at, last_used_at, revoked_at`;

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
    sql<KeyRow>`select ${keyColumns} from api_keys where workspace_id = ${id} order by created_at, id`,
  );
  const keys = rows.map(presentKey);
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

  const key = presentKey(row);
  return {
    text: `API key ${key.id} (…${key.last_four}) of workspace ${row.workspace_id} is revoked since ${key.revoked_at}`,
    data: { workspace_id: row.workspace_id, key },
  };
}

async function revoked(em: Em, id: string): Promise<KeyRow | undefined> {
  const [row] = isId(id)
    ? await query(
        em,
        sql<KeyRow>`update api_keys set revoked_at = coalesce(revoked_at, now()) where id = ${id} returning ${keyColumns}`,
      )
    : [];
  return row;
}

const presentKey = (row: KeyRow) => ({
  id: row.id,
  last_four: row.last_four,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
});

/** @returns the new workspace's id. */
export async function createWorkspace(em: Em, name: string): Promise<string> {
  const workspace = em.create(Workspace, { name, plan: 'standard' });
  await em.flush();
  return workspace.id;
}

/** @returns the key. Only its hash is stored, so it cannot be shown again. */
export async function createApiKey(em: Em, workspaceId: string): Promise<string> {
  const key = newApiKey();
  em.create(ApiKey, {
    workspaceId,
    hash: hashApiKey(key),
    lastFour: key.slice(-4),
    revokedAt: null,
    lastUsedAt: null,
  });
  await em.flush();
  return key;
}

/** @throws AppError `not_found` */
export async function assertWorkspaceExists(em: Em, id: string): Promise<void> {
  if (!isId(id) || !(await em.findOne(Workspace, id))) {
    throw new AppError(
      'not_found',
      `There is no workspace "${id}"; "npm run admin -- workspace list" shows them.`,
    );
  }
}
