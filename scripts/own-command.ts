import { PlainError } from './plain-error.ts';
import { runCommand } from './run-command.ts';

/** Why one of the operator's commands failed, in its own words. */
export class CommandError extends PlainError {
  override readonly name = 'CommandError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Runs one of the operator's commands. @returns its answer for programs.
 *
 * @throws CommandError with a code of the command's, or `broken` when it ended without an answer
 */
export async function runOwnCommand(
  root: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const command = ['cli/main.ts', ...words, '--json'];
  const { ok, stdout, stderr } = await runCommand(process.execPath, command, {
    cwd: root,
    env,
    signal,
  });
  signal.throwIfAborted();
  const answer = parsed(stdout);
  if (ok && answer) {
    return answer;
  }

  const { code, error } = answer ?? {};
  throw typeof error === 'string'
    ? new CommandError(String(code), error)
    : new CommandError('broken', `${stdout}\n${stderr}`.trim());
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
