import { CommandError, runOwnCommand } from './own-command.ts';

export type Demo = {
  readonly workspaceId: string;
  /** Only when it was made just now; afterwards nobody knows it but its owner. */
  readonly apiKey: string | undefined;
  readonly channels: readonly { readonly id: string; readonly platform: string }[];
};

/** A database that is away or refuses is what is wrong then, and no fault of the demo's. */
const ofTheDatabase: ReadonlySet<string> = new Set(['unavailable', 'other_secret_key']);

/**
 * Makes the demo workspace, or finds it, with channels that lead to the sandbox.
 *
 * @throws CommandError with the command's own words when it fails
 */
export async function ensureDemo(
  root: string,
  sandboxUrl: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Demo> {
  try {
    return readDemo(await runOwnCommand(root, ['demo', '--sandbox-url', sandboxUrl], env, signal));
  } catch (error) {
    throw error instanceof CommandError && !ofTheDatabase.has(error.code)
      ? new CommandError(error.code, `The demo workspace could not be made:\n${error.message}`)
      : error;
  }
}

function readDemo({ workspace_id, api_key, channels }: Record<string, unknown>): Demo {
  if (typeof workspace_id !== 'string' || !Array.isArray(channels)) {
    throw new CommandError('broken', 'The command "demo" did not say what it made.');
  }

  return {
    workspaceId: workspace_id,
    apiKey: typeof api_key === 'string' ? api_key : undefined,
    channels: channels.map(({ id, platform }) => ({
      id: String(id),
      platform: String(platform),
    })),
  };
}
