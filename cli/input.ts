import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { pasted } from '../domain/texts.ts';
import { UsageError } from './failures.ts';

// Prompts go to standard error, since standard output has the answer only.

/** Longer than any key or text, in characters. */
const longest = 1_000_000;

/** Reads the whole standard input. */
export async function readInput(input: NodeJS.ReadableStream = process.stdin): Promise<string> {
  const decode = utf8('Standard input');
  let text = '';
  for await (const chunk of input) {
    text += decode(Buffer.from(chunk));
    if (text.length > longest) {
      throw new UsageError(`Standard input is longer than ${longest} characters.`);
    }
  }

  return text + decode();
}

/** A text file. @throws UsageError */
export async function readText(file: string): Promise<string> {
  const decode = utf8(`"${file}"`);
  const bytes = await readFile(file).catch(({ code = 'unknown' }: NodeJS.ErrnoException) => {
    throw new UsageError(`"${file}" cannot be read (${code}).`);
  });
  return decode(bytes) + decode();
}

/** Decodes pieces of an input; a call without one ends it. Drops a byte order mark. @throws UsageError */
function utf8(name: string): (piece?: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return (piece) => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw new UsageError(`${name} is not text in UTF-8.`);
    }
  };
}

/** Where a secret is read from, and where the prompt is written. The input may be a terminal. */
export type SecretSources = {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
};

/**
 * Reads a secret from a file, standard input or a hidden prompt. Never from the command line, which every user of the
 * machine can read in the process list and which shells record. Errors contain no part of it.
 */
export async function readSecret(
  name: string,
  file?: string,
  hint = 'Type it at the prompt, or send it by standard input.',
  { input, output }: SecretSources = { input: process.stdin, output: process.stderr },
): Promise<string> {
  const typed = input.isTTY ? () => askHidden(name, input, output) : () => readInput(input);
  const secret = pasted(await (file === undefined ? typed() : readText(file)));
  if (secret === '' || secret.length > 10_000 || /[\p{Cc}\p{Zs}]/v.test(secret)) {
    throw new UsageError(
      secret === ''
        ? `There is no ${name}. ${hint}`
        : `This is not a valid ${name}: it must be one line without spaces. ${hint}`,
    );
  }

  return secret;
}

/** Ctrl-C and Ctrl-D give an empty text. */
async function askHidden(
  name: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  output.write(`${name} (nothing is shown): `);
  const lines = createInterface({ input, output: nowhere, terminal: true });
  const line = await new Promise<string>((resolve) => {
    lines.once('line', resolve);
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => resolve(''));
  });
  lines.close();
  output.write('\n');
  return line;
}

/** Asks a question at the terminal. @returns the typed line; empty without a terminal. */
export async function ask(question: string): Promise<string> {
  if (!process.stdin.isTTY) {
    return '';
  }

  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''));
    lines.question(question, resolve);
  });
  lines.close();
  return answer;
}

/** Asks before something is destroyed, unless `--yes` was given. @throws UsageError unless the answer is yes. */
export async function confirm(question: string, yes: boolean | undefined): Promise<void> {
  if (yes) {
    return;
  }

  if (!process.stdin.isTTY) {
    throw new UsageError(`${question} Answer with --yes: there is no terminal to ask at.`);
  }

  if (!/^y(?:es)?$/iv.test((await ask(`${question} [y/N] `)).trim())) {
    throw new UsageError('Nothing was done.');
  }
}
