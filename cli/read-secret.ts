import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { pasted } from '../domain/texts.ts';
import { UsageError, type Command } from './command.ts';

/** Far more than any token has, in characters. */
const longest = 10_000;

/** Where a secret may come from: standard input, which may be a terminal, and where a terminal is asked. */
export type SecretSources = {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
};

/**
 * Adds to a command's values the secret that it needs, from the file that was named, from standard input, or from a
 * prompt that shows nothing. Never from the command line, which every user of the machine sees in the list of processes
 * and which shells write down.
 *
 * @throws UsageError when there is none, without a word of it.
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
      `${text === '' ? `There is no ${secret}` : `This is no ${secret}: it should be one line without spaces`}. ${howToGive(secret)}`,
    );
  }

  return { ...values, [secret]: text };
}

/** In a sentence for the operator. @param secret The name of it, which was an option once. */
export const howToGive = (secret: string): string =>
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

/** Ctrl-C and Ctrl-D give nothing. */
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
