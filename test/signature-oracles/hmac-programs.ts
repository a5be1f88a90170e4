import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';

/** HMAC-SHA256 in hex from an independent implementation. @param key Its bytes. */
export type Hmac = (key: Buffer, message: Buffer) => Promise<string>;

const script = `
import hmac, sys
for line in sys.stdin:
    key, message = (bytes.fromhex(part) for part in line.rstrip("\\n").split(" "))
    print(hmac.new(key, message, "sha256").hexdigest(), flush=True)
`;

/** One Python process for all calls, one after the other, because each start is slow. */
export function byPython(t: ExecutionContext): Hmac {
  const child = spawn('python3', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => child.kill());
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return async (key, message) => {
    child.stdin.write(`${key.toString('hex')} ${message.toString('hex')}\n`);
    const { value } = await lines.next();
    return String(value);
  };
}

/** Runs a program. @returns its output. @throws Error with its error output when it fails. */
export async function runProgram(
  program: string,
  args: readonly string[],
  input: Buffer | string,
): Promise<string> {
  const child = spawn(program, args, { timeout: 60_000 });
  const ended = once(child, 'close');
  child.stdin.end(input);
  const [printed, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    ended as Promise<[number | null]>,
  ]);
  if (code !== 0) {
    throw new Error(`${program} ended with ${code}: ${stderr}`);
  }

  return printed;
}
