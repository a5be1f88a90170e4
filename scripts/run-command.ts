import { spawn } from 'node:child_process';

export type CommandResult = {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
};

export type CommandOptions = {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Time until the command is killed, in milliseconds. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** The command's stdin; empty when left out. */
  readonly input?: string;
  readonly uid?: number;
  readonly gid?: number;
};

/** Runs a program to its end. A missing, failed or slow program is a result, not an exception. */
export async function runCommand(
  file: string,
  args: readonly string[],
  { timeoutMs, input = '', ...options }: CommandOptions = {},
): Promise<CommandResult> {
  const child = spawn(file, args, {
    ...options,
    stdio: ['pipe', 'pipe', 'pipe'],
    killSignal: 'SIGKILL',
    ...(timeoutMs ? { timeout: timeoutMs } : {}),
  });
  // A program may end without reading its input.
  child.stdin.on('error', () => undefined).end(input);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });

  return new Promise((resolve) => {
    child.on('error', (error) =>
      resolve({ ok: false, stdout, stderr: `${stderr}${error.message}` }),
    );
    child.on('close', (code) => resolve({ ok: code === 0, stdout, stderr }));
  });
}
