import { PlainError } from './plain-error.ts';
import { runCommand } from './run-command.ts';

export type Demo = {
  readonly workspaceId: string;
  /** Only when it was made just now; afterwards nobody knows it but its owner. */
  readonly apiKey: string | undefined;
  readonly channels: readonly { readonly id: string; readonly platform: string }[];
};

/**
 * Makes the demo workspace, or finds it, with channels that lead to the sandbox.
 *
 * @throws PlainError with the command's own words when it fails
 */
export async function ensureDemo(
  root: string,
  sandboxUrl: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Demo> {
  const command = ['cli/main.ts', 'demo', '--sandbox-url', sandboxUrl, '--json'];
  const result = await runCommand(process.execPath, command, { cwd: root, env, signal });
  signal.throwIfAborted();
  const demo = result.ok ? parseDemo(result.stdout) : undefined;
  if (!demo) {
    const said = `${result.stdout}\n${result.stderr}`.trim();
    throw new PlainError(`The demo workspace could not be made:\n${said}`);
  }
  return demo;
}

function parseDemo(text: string): Demo | undefined {
  try {
    const { workspace_id, api_key, channels } = JSON.parse(text) as Record<string, unknown>;
    if (typeof workspace_id !== 'string' || !Array.isArray(channels)) {
      return undefined;
    }

    return {
      workspaceId: workspace_id,
      apiKey: typeof api_key === 'string' ? api_key : undefined,
      channels: channels.map(({ id, platform }) => ({
        id: String(id),
        platform: String(platform),
      })),
    };
  } catch {
    return undefined;
  }
}
