import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { lowerId } from '../../domain/json-schema.ts';
import { pasted } from '../../domain/texts.ts';
import { UsageError, type Command, type Option } from './command.ts';
import { commandNamed, commands } from './commands.ts';

export type Call = {
  /** `help`, or a name of {@link commandNamed}. */
  readonly command: string;
  readonly values: Readonly<Record<string, string>>;
};

/**
 * Parses `workspace create NAME` or `channel add-mastodon WORKSPACE --url …`: the command's words, its positional
 * arguments, then its options.
 *
 * @throws UsageError that names the missing or unknown argument.
 */
export function readArguments(args: readonly string[]): Call {
  if (args.length === 0 || args.includes('--help') || args[0] === 'help') {
    const about = args.filter((arg) => arg !== 'help' && !arg.startsWith('-')).join(' ');
    return { command: 'help', values: { about } };
  }

  const twoWords = args.slice(0, 2).join(' ');
  const name = commandNamed(twoWords) ? twoWords : (args[0] ?? '');
  const command = commandNamed(name);
  if (!command) {
    throw new UsageError(`There is no command "${twoWords}". ${allCommands}`);
  }

  const { positionals: names, options, oneOf = [], secret } = command;
  if (secret && args.some((arg) => arg === `--${secret}` || arg.startsWith(`--${secret}=`))) {
    throw new UsageError(
      `${name}: --${secret} is not accepted, because other users of this machine can read command lines. ${secretHint(secret)} Renew the secret that you have just typed.`,
    );
  }

  const { values, positionals } = parse(
    name,
    args.slice(name.split(' ').length).map(lowerId),
    options,
  );
  for (const [index, argument] of names.entries()) {
    const given = positionals[index];
    if (given === undefined) {
      throw new UsageError(`${name}: ${argument} is missing.\n\n${usageOf(name, command)}`);
    }

    values[argument] = given;
  }

  if (positionals.length > names.length) {
    throw new UsageError(
      secret
        ? `${name}: there is one word too many. ${secretHint(secret)}`
        : `${name}: "${positionals[names.length]}" is one word too many.`,
    );
  }

  for (const [option, { required }] of Object.entries(options)) {
    if (required && !values[option]) {
      throw new UsageError(`${name}: --${option} is missing.\n\n${usageOf(name, command)}`);
    }
  }

  const chosen = oneOf.filter((option) => values[option] !== undefined);
  if (oneOf.length > 0 && chosen.length !== 1) {
    const all = oneOf.map((option) => `--${option}`).join(', ');
    throw new UsageError(`${name}: one of ${all} is wanted.\n\n${usageOf(name, command)}`);
  }

  return { command: name, values };
}

function parse(name: string, args: string[], options: Readonly<Record<string, Option>>) {
  const types = Object.entries(options).map(([option, { placeholder }]) => [
    option,
    { type: placeholder === undefined ? ('boolean' as const) : ('string' as const) },
  ]);
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: Object.fromEntries(types) as Record<string, { type: 'boolean' | 'string' }>,
    });
    const texts = Object.entries(values).map(([option, value]) => [
      option,
      value === true ? 'yes' : String(value),
    ]);
    return { values: Object.fromEntries(texts) as Record<string, string>, positionals };
  } catch (error) {
    const negative = args.find((arg) => /^-\d/v.test(arg));
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `${name}: ${negative === undefined ? message : `${negative} is negative. Give 0 or more.`}`,
    );
  }
}

const allCommands = '"npm run admin -- help" lists all commands.';

/** The help text, with an entry per command. @param about Words that begin with a command, or with part of its name. */
export function usage(about = ''): string {
  const all = Object.entries(commands);
  const named = all.filter(([name]) => `${about} `.startsWith(`${name} `));
  const group = all.filter(([name]) => about !== '' && name.startsWith(`${about} `));
  const shown = [named, group].find(({ length }) => length > 0) ?? all;
  const lines = shown.map(([name, command]) => usageOf(name, command));
  return `npm run admin -- COMMAND …   (--json for programs)\n\n${lines.join('\n')}`;
}

/** The usage and summary of one command. */
const usageOf = (name: string, command: Command): string =>
  `  ${[name, ...command.positionals, ...optionsOf(command)].join(' ')}\n      ${command.summary}`;

function optionsOf({ options, oneOf = [] }: Command): string[] {
  const spelled = (option: string): string =>
    [`--${option}`, options[option]?.placeholder].filter(Boolean).join(' ');
  const others = Object.keys(options).filter((option) => !oneOf.includes(option));
  return [
    ...(oneOf.length > 0 ? [oneOf.map(spelled).join('|')] : []),
    ...others.map((option) =>
      options[option]?.required ? spelled(option) : `[${spelled(option)}]`,
    ),
  ];
}

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
const secretHint = (secret: string): string =>
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

/** Asks a question at the terminal. @returns the typed line; empty without a terminal. */
export async function ask(question: string): Promise<string> {
  if (!process.stdin.isTTY) {
    return '';
  }

  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await new Promise((resolve) => {
      lines.once('close', () => resolve(''));
      lines.question(question, resolve);
    });
  } finally {
    lines.close();
  }
}
