import { buildRouteMap } from '@stricli/core';
import { lowerId } from '../../domain/json-schema.ts';
import { command, type Answer, type Context, type Flags } from '../command.ts';
import { text, toggle } from '../flags.ts';
import { channels } from './channels.ts';
import { adminCommand, type AdminCommand, type AdminInput } from './command.ts';
import { createDemo } from './create-demo.ts';
import { migrateDatabase, restore, secretKey, storage } from './installation.ts';
import { keys } from './keys.ts';
import { operatorKeys } from './operator-keys.ts';
import { listPosts } from './posts/list-posts.ts';
import { retryOne, settleOne } from './posts/lifecycle.ts';
import { replayPosts } from './posts/replay-posts.ts';
import { retryNow } from './posts/retry-now.ts';
import { showPost } from './posts/show-post.ts';
import { quotas, workspaces } from './workspaces.ts';

/** Runs a command. @throws its errors. */
type Perform = (command: AdminCommand, input: AdminInput) => Promise<Answer>;

const replayWorkflow = adminCommand({
  brief:
    'Replays a workflow against the code of this version, and shows where they diverge. Changes nothing',
  args: { workflow: 'Its id, or a file with its history whose name ends in .json' },
  // The SDK of workers takes long to load.
  runAlone: async ({ workflow }) => (await import('./replay-workflow.ts')).replayWorkflow(workflow),
});

/** docs/operate/operations.md explains these commands. */
const posts = {
  list: listPosts,
  show: showPost,
  retry: retryOne,
  'retry-now': retryNow,
  settle: settleOne,
  replay: replayPosts,
};

/** By the first word. */
const groups: Readonly<
  Record<string, readonly [brief: string, Readonly<Record<string, AdminCommand>>]>
> = {
  workspace: ['Workspaces and their plans', workspaces],
  'operator-key': ['Keys that manage workspaces by the API', operatorKeys],
  quota: ['Quotas of a workspace', quotas],
  key: ['API keys of a workspace', keys],
  storage: ['The media storage', storage],
  restore: ['A database that was restored from a backup', restore],
  'secret-key': ['The key that seals secrets', secretKey],
  channel: ['Accounts of a workspace', channels],
  post: ['Posts of all workspaces', posts],
  workflow: ['Workflows of posts', { replay: replayWorkflow }],
};

/** The operator's commands. */
export function adminRoutes(perform: Perform = performHere) {
  const commandsOf = (found: Readonly<Record<string, AdminCommand>>) =>
    Object.fromEntries(Object.entries(found).map(([name, one]) => [name, commandOf(one, perform)]));
  const groupsOfCommands = Object.entries(groups).map(([word, [brief, found]]) => [
    word,
    buildRouteMap({ routes: commandsOf(found), docs: { brief } }),
  ]);
  return buildRouteMap<string, Context>({
    routes: {
      ...Object.fromEntries(groupsOfCommands),
      ...commandsOf({ migrate: migrateDatabase, demo: createDemo }),
    },
    docs: { brief: "The operator's commands, on the database" },
  });
}

const performHere: Perform = async (admin, input) =>
  (await import('./run-command.ts')).runCommand(admin, input);

const output: Flags = {
  json: toggle('Prints JSON, for programs'),
  jq: text('Prints what this jq filter finds in the JSON', 'FILTER'),
};

const commandOf = (admin: AdminCommand, perform: Perform) =>
  command(
    {
      ...admin,
      run: async (_session, given) => {
        const typed = Object.entries(given).map(([name, value]) => [
          name,
          typeof value === 'string' ? lowerId(value) : value,
        ]);
        return perform(admin, Object.fromEntries(typed) as AdminInput);
      },
    },
    output,
  );
