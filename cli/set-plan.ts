import { AppError } from '../domain/errors.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';
import { mustExist } from './workspaces.ts';

/**
 * Sets what a workspace pays for. Any plan is as good as another; without one, posts are neither made nor changed nor
 * sent again (402), from the next call on. What is scheduled already goes out.
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

  await mustExist(em, id);
  const plan = given === 'none' ? null : given;
  await em.execute('update workspaces set plan = ? where id = ?', [plan, id]);
  return {
    text: plan === null ? `Workspace ${id} has no plan` : `Workspace ${id} has the plan ${plan}`,
    data: { workspace_id: id, plan },
  };
}
