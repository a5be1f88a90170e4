import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Runs a program. @returns what it printed. @throws Error with what it said, when it fails. */
export async function runProgram(
  program: string,
  args: readonly string[],
  input: Buffer | string,
): Promise<string> {
  const child = spawn(program, args, { timeout: 60_000 });
  const ended = once(child, 'close');
  child.stdin.end(input);
  const [printed, said, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    ended as Promise<[number | null]>,
  ]);
  if (code !== 0) {
    throw new Error(`${program} ended with ${code}: ${said}`);
  }

  return printed;
}
