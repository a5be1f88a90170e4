import { sql } from 'kysely';
import { Workspace } from '../db/entities/workspaces.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { AppError } from '../domain/errors.ts';
import { isId } from '../domain/json-schema.ts';
import { storeKey } from '../services/keys/write-keys.ts';
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

/** @returns the new workspace's id. */
export async function createWorkspace(em: Em, name: string): Promise<string> {
  const workspace = em.create(Workspace, { name, plan: 'standard' });
  await em.flush();
  return workspace.id;
}

/** @returns the key, with all rights unless some are given. Only its hash is stored, so it cannot be shown again. */
export async function createApiKey(
  em: Em,
  workspaceId: string,
  rights: Partial<Parameters<typeof storeKey>[2]> = {},
): Promise<string> {
  const all = { name: null, scopes: null, channelIds: null, expiresAt: null };
  return (await storeKey(em, workspaceId, { ...all, ...rights })).secret;
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
