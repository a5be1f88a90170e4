import { parseArgs } from 'node:util';
import { commands, isCommandName, type CommandName } from './commands.ts';
import { usage } from './usage.ts';

/** The words of the call do not fit. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export type Call = {
  readonly command: CommandName | 'help';
  readonly values: Readonly<Record<string, string>>;
};

/**
 * Reads `workspace create NAME` or `channel add-mastodon WORKSPACE --url …`: the command's words, then its
 * arguments by place, then its options.
 *
 * @throws UsageError that says what is missing or unknown.
 */
export function readArguments(args: readonly string[]): Call {
  if (args.length === 0 || args.includes('--help') || args[0] === 'help') {
    return { command: 'help', values: {} };
  }

  const twoWords = args.slice(0, 2).join(' ');
  const name = isCommandName(twoWords) ? twoWords : (args[0] ?? '');
  if (!isCommandName(name)) {
    throw new UsageError(`There is no command "${twoWords}".\n\n${usage()}`);
  }

  const { places, options } = commands[name];
  const { values, positionals } = parse(args.slice(name.split(' ').length), Object.keys(options));
  for (const [index, place] of places.entries()) {
    const given = positionals[index];
    if (given === undefined) {
      throw new UsageError(`${name}: ${place} is missing.\n\n${usage()}`);
    }

    values[place] = given;
  }

  if (positionals.length > places.length) {
    throw new UsageError(`${name}: "${positionals[places.length]}" is one word too many.`);
  }

  for (const [option, { required }] of Object.entries(options)) {
    if (required && !values[option]) {
      throw new UsageError(`${name}: --${option} is missing.\n\n${usage()}`);
    }
  }

  return { command: name, values };
}

function parse(args: string[], options: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: Object.fromEntries(options.map((option) => [option, { type: 'string' as const }])),
    });
    return { values: { ...values } as Record<string, string>, positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
