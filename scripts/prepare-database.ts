import { ensureDemo, type Demo } from './demo.ts';
import { CommandError, runOwnCommand } from './own-command.ts';
import type { Stage } from './parts/part.ts';
import { PlainError } from './plain-error.ts';
import { otherKeyWords, type StartKey } from './secret-key.ts';
import type { StartPlan } from './start-all.ts';

/**
 * Brings the database to its schema, with the demo workspace in it, before anything of ours works on it: what is wrong
 * with the database or the key is told once, and by nobody else.
 *
 * @param env Of the operator's commands.
 * @throws PlainError that says what to do
 */
export async function prepareDatabase(
  { root, settings }: StartPlan,
  key: StartKey,
  sandboxUrl: string,
  env: NodeJS.ProcessEnv,
  { say, signal }: Stage,
): Promise<Demo> {
  if (settings.adoptsSecretKey) {
    const answer = await runOwnCommand(root, ['secret-key', 'adopt'], env, signal);
    const name = `SECRET_KEY (${String(answer['secret_key'])})`;
    say(
      answer['changed'] === true
        ? `${name} is the one of this database now. Connect each account anew, and register each webhook endpoint anew.`
        : `${name} is the one of this database already: nothing was changed.`,
    );
  }

  try {
    return await ensureDemo(root, sandboxUrl, env, signal);
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'other_secret_key') {
      throw error;
    }

    await key.discard();
    throw new PlainError(otherKeyWords(error.message, key));
  }
}
