import { sql } from 'kysely';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { countQuotas } from '../db/quotas.ts';
import { AppError } from '../domain/errors.ts';
import { isQuotaName, quotaNames, type Quotas } from '../domain/quotas.ts';
import { editWorkspace } from '../services/workspaces/write-workspaces.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';
import { assertWorkspaceExists } from './workspaces.ts';

type Values = Readonly<Record<string, string>>;

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
