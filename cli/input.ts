import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { UsageError } from './failures.ts';

// Prompts go to standard error, since standard output has the answer only.

/** Longer than any key or text, in characters. */
const longest = 1_000_000;

/** What a person or program wrote to standard input. */
export async function readInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > longest) {
      throw new UsageError(`Standard input is longer than ${longest} characters.`);
    }
  }

  return text;
}

/**
 * Reads a secret from standard input or at a hidden prompt. Never from the command line, which every user of the machine
 * can read in the process list and which shells record.
 *
 * @throws UsageError when it is missing or malformed, without any part of it.
 */
export async function readSecret(name: string): Promise<string> {
  const secret = (await (process.stdin.isTTY ? askHidden(name) : readInput())).trim();
  if (secret === '' || secret.length > 10_000 || /[\p{Cc}\p{Zs}]/v.test(secret)) {
    throw new UsageError(
      secret === ''
        ? `There is no ${name}. Type it at the prompt, or send it by standard input.`
        : `This is not a valid ${name}: it must be one line without spaces.`,
    );
  }

  return secret;
}

/** Ctrl-C and Ctrl-D give an empty text. */
async function askHidden(name: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  process.stderr.write(`${name} (nothing is shown): `);
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  const line = await new Promise<string>((resolve) => {
    lines.once('line', resolve);
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => resolve(''));
  });
  lines.close();
  process.stderr.write('\n');
  return line;
}

/**
 * Asks before something is destroyed, unless `--yes` was given.
 *
 * @throws UsageError unless the answer is yes.
 */
export async function confirm(question: string, yes: boolean | undefined): Promise<void> {
  if (yes) {
    return;
  }

  if (!process.stdin.isTTY) {
    throw new UsageError(`${question} Answer with --yes: there is no terminal to ask at.`);
  }

  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''));
    lines.question(`${question} [y/N] `, resolve);
  });
  lines.close();
  if (!/^y(?:es)?$/iv.test(answer.trim())) {
    throw new UsageError('Nothing was done.');
  }
}
