import { sql } from 'kysely';
import { Workspace } from '../../db/entities/workspaces.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { countQuotas } from '../../db/quotas.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import { isQuotaName, quotaNames, type Quotas } from '../../domain/quotas.ts';
import { storeKey, type NewKey } from '../../services/keys/write-keys.ts';
import { showWorkspace } from '../../services/workspaces/read-workspaces.ts';
import {
  deleteWorkspace,
  editWorkspace,
  storeWorkspace,
  storeWorkspaceKey,
} from '../../services/workspaces/write-workspaces.ts';
import { UsageError } from '../failures.ts';
import type { CommandAnswer, CommandDeps, Values } from './command.ts';
import { oneLine } from '../table.ts';

type WorkspaceRow = {
  readonly id: string;
  readonly name: string | null;
  readonly plan: string | null;
  readonly channels: number;
  readonly is_being_deleted: boolean;
};

export async function createNamedWorkspace(
  { em }: CommandDeps,
  { NAME: name = '' }: Values,
): Promise<CommandAnswer> {
  const id = await storeWorkspace(em, {}, { name });
  const { secret: key } = await storeWorkspaceKey(em, {}, id);
  return {
    text: `Workspace ${id} (${name.trim()})\nAPI key, shown this once: ${key}`,
    data: { workspace_id: id, name: name.trim(), api_key: key },
  };
}

export async function listWorkspaces({ em }: CommandDeps): Promise<CommandAnswer> {
  const rows = await query(
    em,
    sql<WorkspaceRow>`select id, name, plan, (select count(*)::int from channels c
               where c.workspace_id = w.id and c.disconnected_at is null) as channels,
               deleted_at is not null as is_being_deleted
             from workspaces w where purged_at is null order by created_at`,
  );
  const lines = rows.map(
    ({ id, name, plan, channels, is_being_deleted: isBeingDeleted }) =>
      `${id}  ${channels} channels  ${plan === null ? 'no plan' : `plan ${plan}`}  ${oneLine(name ?? '')}${isBeingDeleted ? '  (being deleted)' : ''}`,
  );
  return { text: lines.join('\n') || 'There is no workspace yet.', data: { workspaces: rows } };
}

/** All plans are equal. `editWorkspace` lists the calls that need one. */
export async function setPlan(
  { em }: CommandDeps,
  { WORKSPACE_ID: id = '', 'PLAN|none': given = '' }: Values,
): Promise<CommandAnswer> {
  await editWorkspace(em, {}, id, { plan: given });
  const plan = given === 'none' ? null : given;
  return {
    text: plan === null ? `Workspace ${id} has no plan` : `Workspace ${id} has the plan ${plan}`,
    data: { workspace_id: id, plan },
  };
}

export async function renameWorkspace(
  { em }: CommandDeps,
  { WORKSPACE_ID: id = '', NAME: name = '' }: Values,
): Promise<CommandAnswer> {
  await editWorkspace(em, {}, id, { name });
  return {
    text: `Workspace ${id} is called ${name.trim()}`,
    data: { workspace_id: id, name: name.trim() },
  };
}

/**
 * Deletes a workspace with everything in it, once its name was typed.
 *
 * @throws UsageError when another name was given.
 */
export async function removeWorkspace(
  deps: CommandDeps,
  { WORKSPACE_ID: id = '', yes }: Values,
): Promise<CommandAnswer> {
  const { name } = await showWorkspace(deps.em, deps.quotas, id);
  const typed =
    yes ??
    (await deps.ask(
      `Type the name of the workspace (${oneLine(name ?? '')}) to delete everything in it: `,
    ));
  if (typed.trim() !== (name ?? id)) {
    throw new UsageError(`This is not the name of workspace ${id}: nothing was deleted.`);
  }

  await deleteWorkspace(deps, {}, id);
  return {
    text: `Workspace ${id} is deleted: its keys are refused, and nothing more is published. The workers delete its rows and files within hours.`,
    data: { workspace_id: id, name },
  };
}

/** Shows the quotas of a workspace and their usage, counted from the rows. */
export async function showQuotas(
  { em, quotas }: CommandDeps,
  { WORKSPACE_ID: id = '' }: Values,
): Promise<CommandAnswer> {
  await assertWorkspaceExists(em, id);
  const own = await ownQuotas(em, id);
  const used = await countQuotas(em, id);
  const rows = quotaNames.map((quota) => ({
    quota,
    limit: own[quota] ?? quotas[quota],
    used: used[quota],
    is_default: own[quota] === undefined,
  }));
  const lines = rows.map(
    ({ quota, limit, used: has, is_default: isDefault }) =>
      `${quota.padEnd(11)}  ${has} of ${limit}${isDefault ? '' : ' (set for this workspace)'}`,
  );
  return { text: lines.join('\n'), data: { workspace_id: id, quotas: rows } };
}

/**
 * Sets a quota. A number below the usage removes nothing and stops no post; it only refuses new ones, from the next
 * call on. Shares are recounted.
 */
export async function setQuota(
  { em, quotas }: CommandDeps,
  { WORKSPACE_ID: id = '', QUOTA: quota = '', 'NUMBER|default': given = '' }: Values,
): Promise<CommandAnswer> {
  if (!isQuotaName(quota)) {
    throw new AppError(
      'invalid_request',
      `There is no quota "${quota}". There are ${quotaNames.join(', ')}.`,
    );
  }

  if (given !== 'default' && !/^\d{1,15}$/v.test(given)) {
    throw new AppError(
      'invalid_request',
      `A quota is a whole number of at most 15 digits, or "default"; not "${given}".`,
    );
  }

  await editWorkspace(em, {}, id, {
    quotas: { [quota]: given === 'default' ? null : Number(given) },
  });
  const limit = given === 'default' ? quotas[quota] : Number(given);
  return {
    text: `Workspace ${id} has the quota ${quota} ${limit}${given === 'default' ? ' (the default)' : ''}`,
    data: { workspace_id: id, quota, limit },
  };
}

async function ownQuotas(em: Em, id: string): Promise<Partial<Quotas>> {
  const [row] = await query(
    em,
    sql<{ quotas: Partial<Quotas> }>`select quotas from workspaces where id = ${id}`,
  );
  return row?.quotas ?? {};
}

/** @returns the new workspace's id. */
export async function createWorkspace(em: Em, name: string): Promise<string> {
  const workspace = em.create(Workspace, {
    name,
    plan: 'standard',
    deletedAt: null,
    purgedAt: null,
  });
  await em.flush();
  return workspace.id;
}

/** @returns the key, with all rights unless some are given. Only its hash is stored, so it cannot be shown again. */
export async function createApiKey(
  em: Em,
  workspaceId: string,
  rights: Partial<NewKey> = {},
): Promise<string> {
  const all = { name: null, scopes: null, channelIds: null, expiresAt: null };
  return (await storeKey(em, workspaceId, { ...all, ...rights })).secret;
}

/** @throws AppError `not_found` */
export async function assertWorkspaceExists(em: Em, id: string): Promise<void> {
  if (!isId(id) || !(await em.findOne(Workspace, { id, deletedAt: null }))) {
    throw new AppError(
      'not_found',
      `There is no workspace "${id}"; "npm run admin -- workspace list" shows them.`,
    );
  }
}
