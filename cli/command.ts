import {
  buildCommand,
  type Command as StricliCommand,
  type CommandContext,
  type StricliProcess,
} from '@stricli/core';
import { Punctual } from '../sdk/src/index.ts';
import { CommandError, describe, exitCodeOf, UsageError } from './failures.ts';
import { text, toggle, type Flag } from './flags.ts';
import { chooseAccess, type Access } from './profiles.ts';
import { safeLines, tableText, type Table } from './table.ts';

/** The result of a command. */
export type Answer = {
  /** For programs: the API's own answer. */
  readonly data: unknown;
  /** For people. Tables of several answers are joined. */
  readonly text: string | Table;
  /** The command ran and reports a failure: exit code 1. */
  readonly failed?: boolean;
};

/** Everything that a command can use. */
export type Session = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The `--profile` that was given. */
  readonly profile: string | undefined;
  readonly access: () => Promise<Access>;
  /** A client of the API with the chosen key. @throws NoKeyError */
  readonly client: () => Promise<Punctual>;
  /** Tells a person something, on standard error. */
  readonly say: (line: string) => void;
};

export type Context = CommandContext & { readonly process: StricliProcess };
export type Command = StricliCommand<Context>;

export type Flags = Readonly<Record<string, Flag<unknown>>>;
/** The values of these flags. */
export type Values<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never;
};
export type Input<F extends Flags, A extends string, R extends string> = Values<F> &
  Readonly<Record<A, string>> &
  Readonly<Record<R, readonly string[]>>;

export type Definition<F extends Flags, A extends string, R extends string> = {
  /** One line for lists of commands. */
  readonly brief: string;
  /** More about it, for its own help. */
  readonly description?: string;
  /** Command lines without `punctual`. */
  readonly examples?: readonly string[];
  readonly flags?: F;
  /** One-letter names of flags. */
  readonly aliases?: Readonly<Record<string, keyof F & string>>;
  /** Names of the positional arguments, in order, with what they are. */
  readonly args?: Record<A, string>;
  /** Instead of `args`: one or more arguments of the same kind. */
  readonly rest?: Record<R, string>;
  readonly run: (
    session: Session,
    input: Input<F, A, R>,
  ) => Promise<Answer> | AsyncIterable<Answer>;
};

type Output = {
  readonly json?: boolean;
  readonly jq?: string;
  readonly profile?: string;
};

const outputFlags: Flags = {
  json: toggle("Prints the API's own answer"),
  jq: text('Prints what this jq filter finds in the answer', 'FILTER'),
  profile: text('Uses the API and key of this profile', 'NAME'),
};

/**
 * A command. Errors that it throws become a text on standard error and an exit code.
 *
 * @param output The flags that every command of its kind has.
 */
export function command<
  F extends Flags = Record<never, never>,
  A extends string = never,
  R extends string = never,
>({ run, ...definition }: Definition<F, A, R>, output = outputFlags): Command {
  const { brief, description = `${brief}.`, examples = [] } = definition;
  const names = Object.keys(definition.args ?? definition.rest ?? {});
  async function func(this: Context, flags: Output & Values<F>, ...args: readonly string[]) {
    const { json, jq, profile, ...values } = flags;
    const given = definition.rest
      ? { [names[0] ?? '']: args }
      : Object.fromEntries(names.map((name, at) => [name, args[at]]));
    const input = { ...values, ...given } as unknown as Input<F, A, R>;
    this.process.exitCode = await execute(() => run(sessionOf(profile), input), { json, jq });
  }

  const lines = examples.map((example) => `  punctual ${example}`);
  return buildCommand<Record<string, unknown>, readonly string[], Context>({
    func,
    docs: {
      brief,
      fullDescription: [description, ...(lines.length > 0 ? ['', 'EXAMPLES', ...lines] : [])].join(
        '\n',
      ),
    },
    parameters: parametersOf(definition, output),
  } as never);
}

function parametersOf(
  { flags = {}, aliases = {}, args = {}, rest }: Partial<Definition<Flags, string, string>>,
  output: Flags,
) {
  const positional = (given: Readonly<Record<string, string>>) =>
    Object.entries(given).map(([name, brief]) => ({
      brief,
      parse: brief.startsWith('Id of') ? idOf : String,
      placeholder: name.replaceAll(/[A-Z]/gv, '_$&').toUpperCase(),
    }));
  const entries = Object.entries({ ...flags, ...output });
  return {
    flags: Object.fromEntries(entries.map(([name, { parameter }]) => [name, parameter])),
    aliases,
    positional: rest
      ? { kind: 'array', parameter: positional(rest)[0], minimum: 1 }
      : { kind: 'tuple', parameters: positional(args) },
  };
}

function idOf(word: string): string {
  if (!/^[\w\-]+$/v.test(word)) {
    throw new UsageError(`"${word}" is not an id`);
  }

  return word;
}

function sessionOf(profile: string | undefined): Session {
  const { env } = process;
  const access = () => chooseAccess(env, profile);
  return {
    env,
    profile,
    access,
    client: async () => {
      const { url, apiKey } = await access();
      return new Punctual({ baseUrl: url, apiKey });
    },
    say: (line) => process.stderr.write(`${safeLines(line)}\n`),
  };
}

async function execute(
  run: () => Promise<Answer> | AsyncIterable<Answer>,
  output: { readonly json: boolean | undefined; readonly jq: string | undefined },
): Promise<number> {
  const isForPrograms = output.json === true || output.jq !== undefined;
  try {
    if (output.jq !== undefined) {
      await compiled(output.jq);
    }

    const result = run();
    const answers = Symbol.asyncIterator in result ? result : [await result];
    return await (isForPrograms ? printData(answers, output.jq) : printText(answers));
  } catch (error) {
    process.stderr.write(`${safeLines(describe(error, isForPrograms))}\n`);
    return exitCodeOf(error);
  }
}

type Answers = AsyncIterable<Answer> | Iterable<Answer>;

/** One line of JSON for each answer. */
async function printData(answers: Answers, filter: string | undefined): Promise<number> {
  let code = 0;
  for await (const { data, failed } of answers) {
    // Text is an answer of the API too, such as CSV.
    const json = typeof data === 'string' ? data.trimEnd() : JSON.stringify(data);
    const shown = filter === undefined ? json : await filtered(json, filter);
    process.stdout.write(shown === '' ? '' : `${shown}\n`);
    code = failed ? 1 : code;
  }

  return code;
}

async function printText(answers: Answers): Promise<number> {
  let code = 0;
  let joined: Table | undefined;
  for await (const { data, text: shown, failed } of answers) {
    if (typeof shown === 'string') {
      // A file such as CSV stays as it is.
      const isFile = typeof data === 'string' && !process.stdout.isTTY;
      process.stdout.write(shown === '' ? '' : `${isFile ? shown : safeLines(shown)}\n`);
    } else {
      joined = { head: shown.head, rows: [...(joined?.rows ?? []), ...shown.rows] };
    }

    code = failed ? 1 : code;
  }

  if (joined) {
    process.stdout.write(`${joined.rows.length > 0 ? tableText(joined) : 'None.'}\n`);
  }

  return code;
}

/** Loaded when asked for, since it starts a WebAssembly program. */
const jq = () => import('jq-wasm');

/** Runs the filter on no input, so that a wrong one is refused before the call. @throws UsageError */
async function compiled(filter: string): Promise<void> {
  const { exitCode, stderr } = await (await jq()).raw('', filter);
  if (exitCode !== 0) {
    throw new UsageError(`--jq: ${stderr}`);
  }
}

async function filtered(json: string, filter: string): Promise<string> {
  const { exitCode, stdout, stderr } = await (await jq()).raw(json, filter, ['-r']);
  if (exitCode !== 0) {
    throw new CommandError(`The call was done, but --jq failed: ${stderr}`);
  }

  return stdout.trimEnd();
}
