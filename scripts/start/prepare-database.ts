import type { Stage } from '../parts/part.ts';
import { runCommand } from '../run-command.ts';
import { PlainError } from '../terminal.ts';
import { otherKeyMessage, type StartKey } from './secret-key.ts';
import type { StartPlan } from './start-plan.ts';

/**
 * Migrates the database and creates the demo workspace before any other process uses it, so that a problem with the
 * database or the key is reported once.
 *
 * @param env Environment of the operator's commands.
 * @throws PlainError that explains what to do
 */
export async function prepareDatabase(
  { root, settings, data }: StartPlan,
  key: StartKey,
  sandboxUrl: string,
  env: NodeJS.ProcessEnv,
  { say, signal }: Stage,
): Promise<Demo> {
  await runOwnCommand(root, ['migrate'], env, signal);
  if (settings.adoptsSecretKey) {
    const answer = await runOwnCommand(root, ['secret-key', 'adopt'], env, signal);
    const name = `SECRET_KEY (${String(answer['secret_key'])})`;
    say(
      answer['changed'] === true
        ? `${name} is the one of this database now. Connect each account and register each webhook endpoint again.`
        : `${name} is the one of this database already: nothing was changed.`,
    );
  }

  try {
    if (settings.adoptsStorage) {
      const { warning } = await runOwnCommand(root, ['storage', 'adopt'], env, signal);
      say(String(warning ?? 'This database now uses the media storage of this start.'));
    }

    const command = ['demo', '--sandbox-url', sandboxUrl, '--key-file', data.path('demo-api-key')];
    return await ensureDemo(root, command, env, signal);
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'other_secret_key') {
      throw error;
    }

    await key.discard();
    throw new PlainError(otherKeyMessage(error.message, key));
  }
}

export type Demo = {
  readonly apiKey: string;
  readonly channels: readonly DemoChannel[];
};

type DemoChannel = {
  readonly id: string;
  readonly platform: string;
  /** Whether a post there may have only a text. */
  readonly takesText: boolean;
};

/** These codes mean a problem with the database, not with the demo. */
const ofTheDatabase: ReadonlySet<string> = new Set(['unavailable', 'other_secret_key']);

/**
 * Creates or finds the demo workspace, with channels on the sandbox.
 *
 * @throws CommandError with the command's own message
 */
async function ensureDemo(
  root: string,
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Demo> {
  try {
    return readDemo(await runOwnCommand(root, command, env, signal));
  } catch (error) {
    throw error instanceof CommandError && !ofTheDatabase.has(error.code)
      ? new CommandError(error.code, `The demo workspace could not be created:\n${error.message}`)
      : error;
  }
}

function readDemo({ api_key, channels }: Record<string, unknown>): Demo {
  if (typeof api_key !== 'string' || !Array.isArray(channels)) {
    throw new CommandError('broken', 'The command "demo" returned an unexpected result.');
  }

  return {
    apiKey: api_key,
    channels: channels.map(({ id, platform, takes_text }) => ({
      id: String(id),
      platform: String(platform),
      takesText: takes_text === true,
    })),
  };
}

/** A failed operator's command, with its own message. */
class CommandError extends PlainError {
  override readonly name = 'CommandError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Runs an operator's command. @returns its JSON output.
 *
 * @throws CommandError with the command's code, or `broken` when it ended without JSON
 */
async function runOwnCommand(
  root: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const command = ['cli/admin/main.ts', ...words, '--json'];
  const { ok, stdout, stderr } = await runCommand(process.execPath, command, {
    cwd: root,
    env,
    signal,
  });
  signal.throwIfAborted();
  const answer = ok ? parsed(stdout) : undefined;
  if (answer) {
    return answer;
  }

  const { code, error } = parsed(stderr.trim().split('\n').at(-1) ?? '') ?? {};
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
