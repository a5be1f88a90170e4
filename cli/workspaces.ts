import { createApiKey, createWorkspace } from './create-workspace.ts';
import { Workspace } from '../db/entities/workspace.ts';
import type { Em } from '../db/orm.ts';
import { AppError } from '../domain/errors.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';

type Values = Readonly<Record<string, string>>;
type Row = {
  readonly id: string;
  readonly name: string | null;
  readonly plan: string | null;
  readonly channels: number;
};

export async function createNamedWorkspace(
  { em }: CommandDeps,
  { NAME: name = '' }: Values,
): Promise<CommandAnswer> {
  if (name.trim() === '') {
    throw new AppError('invalid_request', 'A workspace needs a name that is not blank.');
  }

  const id = await createWorkspace(em, name);
  const key = await createApiKey(em, id);
  return {
    text: `Workspace ${id} (${name})\nAPI key, shown this once: ${key}`,
    data: { workspace_id: id, name, api_key: key },
  };
}

export async function listWorkspaces({ em }: CommandDeps): Promise<CommandAnswer> {
  const rows = await em.execute<Row[]>(
    `select id, name, plan, (select count(*)::int from channels c where c.workspace_id = w.id) as channels
     from workspaces w order by created_at`,
  );
  const lines = rows.map(
    ({ id, name, plan, channels }) =>
      `${id}  ${channels} channels  ${plan === null ? 'no plan' : `plan ${plan}`}  ${name ?? ''}`,
  );
  return { text: lines.join('\n') || 'There is no workspace yet.', data: { workspaces: rows } };
}

/** @throws AppError `not_found` */
export async function mustExist(em: Em, id: string): Promise<void> {
  const wellFormed = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/v.test(id);
  if (!wellFormed || !(await em.findOne(Workspace, id))) {
    throw new AppError(
      'not_found',
      `There is no workspace "${id}"; "npm run admin -- workspace list" shows them.`,
    );
  }
}
