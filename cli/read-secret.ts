import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { pasted } from '../domain/texts.ts';
import { UsageError, type Command } from './command.ts';

/** Longer than any token, in characters. */
const longest = 10_000;

/** Where a secret is read from, and where the prompt is written. The input may be a terminal. */
export type SecretSources = {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
};

/**
 * Adds the command's secret to its values: from the named file, standard input or a hidden prompt. Never from the
 * command line, which every user of the machine can read in the process list and which shells record.
 *
 * @throws UsageError when the secret is missing or malformed, without any part of it.
 */
export async function withSecret(
  { secret }: Command,
  values: Readonly<Record<string, string>>,
  { input, output }: SecretSources = { input: process.stdin, output: process.stderr },
): Promise<Readonly<Record<string, string>>> {
  if (!secret) {
    return values;
  }

  const file = values[`${secret}-file`];
  const given = await (file === undefined
    ? input.isTTY
      ? askFor(secret, input, output)
      : readAll(input)
    : fromFile(`${secret}-file`, file));
  const text = pasted(given);
  if (text === '' || text.length > longest || /[\p{Cc}\p{Zs}]/v.test(text)) {
    throw new UsageError(
      `${text === '' ? `There is no ${secret}` : `This is not a valid ${secret}: it must be one line without spaces`}. ${secretHint(secret)}`,
    );
  }

  return { ...values, [secret]: text };
}

/** An instruction for the operator. @param secret Its name. */
export const secretHint = (secret: string): string =>
  `Give it by standard input, by --${secret}-file FILE, or type it at the prompt.`;

async function fromFile(option: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new UsageError(`--${option}: "${file}" cannot be read (${code}).`);
  }
}

async function readAll(input: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of input) {
    text += String(chunk);
    if (text.length > 2 * longest) {
      break;
    }
  }

  return text;
}

/** Ctrl-C and Ctrl-D give an empty text. */
function askFor(
  secret: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  output.write(`${secret} (nothing is shown): `);
  const lines = createInterface({ input, output: nowhere, terminal: true });
  return new Promise((resolve) => {
    lines.once('line', resolve);
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => resolve(''));
  }).then((line) => {
    lines.close();
    output.write('\n');
    return String(line);
  });
}
