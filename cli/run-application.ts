import {
  buildApplication,
  formatMessageForArgumentScannerError,
  proposeCompletions,
  run,
  text_en,
  type ApplicationText,
  type ArgumentScannerError,
  type RouteMap,
  type StricliProcess,
} from '@stricli/core';
import type { Context } from './command.ts';
import { flagName } from './flags.ts';

/** Stricli's texts without the values that people typed: one may be a secret at the wrong place. */
const texts: ApplicationText = {
  ...text_en,
  exceptionWhileParsingArguments: (error) =>
    formatMessageForArgumentScannerError(error as ArgumentScannerError, {
      FlagNotFoundError: ({ input, corrections }) => {
        // The admin's `--published` is `--url` here: its opposite would be a bad guess.
        const names = corrections.map(flagName).filter((name) => name !== `--not-${input}`);
        const meant = names.length > 0 ? ` Did you mean ${names.join(' or ')}?` : '';
        return `There is no flag --${input}.${meant} --help shows the flags.`;
      },
      ArgumentParseError: ({ externalFlagNameOrPlaceholder: name, exception }) =>
        `${/^[a-z]/v.test(name) ? '--' : ''}${name}: ${(exception as Error).message}`,
      UnexpectedPositionalError: ({ expectedCount }) =>
        `There is one argument too many: the command takes ${expectedCount}. A text belongs to its flag, in quotes, as in --body "Hello world".`,
      UnsatisfiedPositionalError: ({ placeholder }) => `${placeholder} is missing.`,
      UnsatisfiedFlagError: ({ externalFlagName: name, nextFlagName: next }) =>
        `--${name} is missing${next === undefined ? '' : `, or its value: --${next} follows`}.`,
    }),
};

type Names = { readonly name: string; readonly version: string };

/** `help WORDS` is `WORDS --help`, and `__complete WORDS` asks for the next word. @returns the exit code. */
export async function runApplication(
  root: RouteMap<Context>,
  { name, version }: Names,
  words: readonly string[],
  { stdout, stderr, env = {} }: Pick<StricliProcess, 'stdout' | 'stderr' | 'env'> = process,
): Promise<number> {
  const app = buildApplication(root, {
    name,
    versionInfo: { currentVersion: version },
    scanner: { caseStyle: 'allow-kebab-for-camel' },
    documentation: { disableAnsiColor: true, onlyRequiredInUsageLine: true },
    localization: { text: texts },
  });
  const context: Context = { process: { stdout, stderr, env } };
  const [first, ...rest] = words;
  if (first === '__complete') {
    const found = await proposeCompletions(app, rest, context).catch(() => []);
    stdout.write(found.map((one) => `${one.completion}\n`).join(''));
    return 0;
  }

  await run(app, first === 'help' ? [...rest, '--help'] : words, context);
  const code = Number(context.process.exitCode ?? 0);
  // Stricli's codes for a command or flag that does not exist are negative.
  return code < 0 ? 2 : code;
}
