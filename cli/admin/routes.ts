import { buildCommand, buildRouteMap } from '@stricli/core';
import { lowerId } from '../../domain/json-schema.ts';
import { execute, outputFlags, type Context } from '../command.ts';
import { UsageError } from '../failures.ts';
import type { Command, Option, Values } from './command.ts';
import { commands } from './commands.ts';
import { secretHint } from './complete-values.ts';

/** How the answer is printed. */
type Printing = { readonly json: boolean | undefined; readonly jq: string | undefined };

/** Runs a command and prints its answer. @returns the exit code. */
type Perform = (command: Command, values: Values, printing: Printing) => Promise<number>;

const groups: Readonly<Record<string, string>> = {
  workspace: 'Workspaces and their plans',
  'operator-key': 'Keys that manage workspaces by the API',
  quota: 'Quotas of a workspace',
  key: 'API keys of a workspace',
  storage: 'The media storage',
  restore: 'A database that was restored from a backup',
  'secret-key': 'The key that seals secrets',
  channel: 'Accounts of a workspace',
  post: 'Posts of all workspaces',
  analytics: 'Metrics of posts',
  workflow: 'Workflows of posts',
};

/**
 * The operator's commands.
 *
 * @param words What was typed after `admin`: commands of networks are loaded only if `channel` is among it.
 */
export async function adminRoutes(words: readonly string[], perform: Perform = performHere) {
  const own = words.includes('channel') ? (await import('./channels.ts')).channelCommands : {};
  const all: [string, Command][] = Object.entries({ ...commands, ...own });
  const members = Object.groupBy(all, ([name]) => name.split(' ')[0] ?? '');
  const routes = Object.entries(members).map(([word, found = []]) => {
    const [first] = found;
    return [
      word,
      first?.[0] === word
        ? routeTo(first[1], perform)
        : buildRouteMap({
            routes: Object.fromEntries(
              found.map(([name, command]) => [
                name.slice(word.length + 1),
                routeTo(command, perform),
              ]),
            ),
            docs: { brief: groups[word] ?? word },
          }),
    ] as const;
  });
  return buildRouteMap({
    routes: Object.fromEntries(routes),
    docs: { brief: "The operator's commands, on the database" },
  });
}

const performHere: Perform = (command, values, printing) =>
  execute(async () => (await import('./run-command.ts')).runCommand(command, values), printing);

/** What people give for a positional argument. */
const meanings: Readonly<Record<string, string>> = {
  WORKSPACE_ID: 'As "workspace list" shows it',
  CHANNEL_ID: 'As "channel list" shows it',
  KEY_ID: 'As "key list" or "operator-key list" shows it',
  POST: 'Id of a post or of its workflow',
  CHANNEL: 'Id of a channel of the post',
};

function routeTo(command: Command, perform: Perform) {
  const { summary, positionals = [], options = {}, secret } = command;
  const { json, jq } = outputFlags;
  const flags = Object.entries(options).map(([name, option]) => [name, flagOf(option)] as const);
  const refused = secret === undefined ? [] : [[secret, refusedFlag(secret)] as const];
  async function func(this: Context, given: Given, ...words: readonly string[]) {
    const { json: asJson, jq: filter, ...typed } = given;
    const chosen = Object.entries(typed)
      .filter(([, value]) => value !== undefined && value !== false)
      .map(([name, value]) => [name, value === true ? 'yes' : value]);
    const named = positionals.map((name, at) => [name, words[at]]);
    const values = Object.fromEntries([...named, ...chosen]) as Values;
    this.process.exitCode = await perform(command, values, { json: asJson, jq: filter });
  }

  return buildCommand<Record<string, unknown>, readonly string[], Context>({
    func,
    docs: { brief: summary },
    parameters: {
      flags: Object.fromEntries([
        ...flags,
        ...refused,
        ['json', { ...json.parameter, brief: 'Prints JSON, for programs' }],
        ['jq', jq.parameter],
      ]),
      positional: {
        kind: 'tuple',
        parameters: positionals.map((placeholder) => ({
          placeholder,
          brief: meanings[placeholder] ?? '',
          parse: lowerId,
        })),
      },
    },
  } as never);
}

type Given = Partial<Printing> & Readonly<Record<string, unknown>>;

const flagOf = ({ placeholder, brief = '', required = false }: Option): object =>
  placeholder === undefined
    ? { kind: 'boolean', brief, optional: true, withNegated: false }
    : { kind: 'parsed', parse: lowerId, placeholder, brief, optional: !required };

/** Takes the place of a flag that people expect. */
const refusedFlag = (secret: string): object => ({
  kind: 'parsed',
  brief: 'Refused',
  hidden: true,
  optional: true,
  parse: () => {
    throw new UsageError(
      `it is refused, because other users of this machine can read command lines. ${secretHint(secret)} Renew the secret that you have just typed.`,
    );
  },
});
