import { Workspace } from '../../db/entities/workspaces.ts';
import type { Em } from '../../db/orm.ts';
import { countQuotas } from '../../db/quotas.ts';
import { selectWorkspaces } from '../../db/repositories/workspaces.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import { isQuotaName, quotaNames } from '../../domain/quotas.ts';
import { storeKey, type NewKey } from '../../services/keys/write-keys.ts';
import { showWorkspace } from '../../services/workspaces/read-workspaces.ts';
import {
  deleteWorkspace,
  editWorkspace,
  storeWorkspace,
  storeWorkspaceKey,
} from '../../services/workspaces/write-workspaces.ts';
import { UsageError } from '../failures.ts';
import { text } from '../flags.ts';
import { oneLine, tableOf } from '../table.ts';
import { adminCommand } from './command.ts';

export const workspaceArgs = { workspaceId: 'As "workspace list" shows it' };

const create = adminCommand({
  brief: 'Creates a workspace with a first API key, which is shown only now',
  args: { name: 'For people' },
  run: async ({ em }, { name }) => {
    const id = await storeWorkspace(em, {}, { name });
    const { secret: key } = await storeWorkspaceKey(em, {}, id);
    return {
      text: `Workspace ${id} (${name.trim()})\nAPI key, shown this once: ${key}`,
      data: { workspace_id: id, name: name.trim(), api_key: key },
    };
  },
});

const list = adminCommand({
  brief: 'Lists the workspaces, newest first',
  run: async ({ em }) => {
    const found = await selectWorkspaces(em);
    const fields = ['id', 'channels', 'plan', 'name', 'created_at', 'deleted_at'] as const;
    const shown = found.map((one) =>
      Object.fromEntries(fields.map((field) => [field, one[field]])),
    );
    return { data: { workspaces: shown }, text: tableOf(found, fields) };
  },
});

const plan = adminCommand({
  brief: 'Sets the plan of a workspace; with "none" it cannot create new posts',
  args: { ...workspaceArgs, plan: 'A word, or none' },
  run: async ({ em }, { workspaceId: id, plan: given }) => {
    await editWorkspace(em, {}, id, { plan: given });
    const isNone = given === 'none';
    return {
      text: `Workspace ${id} has ${isNone ? 'no plan' : `the plan ${given}`}`,
      data: { workspace_id: id, plan: isNone ? null : given },
    };
  },
});

const remove = adminCommand({
  brief: 'Deletes a workspace with everything in it, in the background',
  args: workspaceArgs,
  flags: { yes: text('Its name; asked for if omitted', 'NAME') },
  run: async (deps, { workspaceId: id, yes }) => {
    const { name } = await showWorkspace(deps.em, deps.quotas, id);
    const question = `Type the name of the workspace (${oneLine(name ?? '')}) to delete everything in it: `;
    const typed = yes ?? (await deps.ask(question));
    if (typed.trim() !== (name ?? id)) {
      throw new UsageError(`This is not the name of workspace ${id}: nothing was deleted.`);
    }

    await deleteWorkspace(deps, {}, id);
    return {
      text: `Workspace ${id} is deleted: its keys are refused, and nothing more is published. The workers delete its rows and files within hours.`,
      data: { workspace_id: id, name },
    };
  },
});

export const workspaces = { create, list, plan, delete: remove };

const showQuotas = adminCommand({
  brief: 'Shows the quotas of a workspace and their usage',
  args: workspaceArgs,
  run: async ({ em, quotas: usual }, { workspaceId: id }) => {
    const { quotas: limits } = await showWorkspace(em, usual, id);
    const used = await countQuotas(em, id);
    const rows = quotaNames.map((quota) => ({
      quota,
      used: used[quota],
      limit: limits[quota],
      default: usual[quota],
    }));
    return {
      text: tableOf(rows, ['quota', 'used', 'limit', 'default']),
      data: { workspace_id: id, quotas: rows },
    };
  },
});

const setQuota = adminCommand({
  brief: `Sets a quota of a workspace: ${quotaNames.join(', ')}`,
  args: { ...workspaceArgs, quota: 'Its name', limit: 'A number, or default' },
  run: async ({ em, quotas: usual }, { workspaceId: id, quota, limit: given }) => {
    if (!isQuotaName(quota)) {
      throw new UsageError(`There is no quota "${quota}". There are ${quotaNames.join(', ')}.`);
    }

    const isDefault = given === 'default';
    if (!isDefault && !/^\d{1,15}$/v.test(given)) {
      throw new UsageError(
        `A quota is a whole number of at most 15 digits, or "default"; not "${given}".`,
      );
    }

    await editWorkspace(em, {}, id, { quotas: { [quota]: isDefault ? null : Number(given) } });
    const limit = isDefault ? usual[quota] : Number(given);
    return {
      text: `Workspace ${id} has the quota ${quota} ${limit}${isDefault ? ' (the default)' : ''}`,
      data: { workspace_id: id, quota, limit },
    };
  },
});

export const quotas = { show: showQuotas, set: setQuota };

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
    const message = `There is no workspace "${id}"; "npm run admin -- workspace list" shows them.`;
    throw new AppError('not_found', message);
  }
}
