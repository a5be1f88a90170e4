import { quotaNames } from '../domain/quotas.ts';
import { platforms } from '../networks/registry.ts';
import type { Command } from './command.ts';
import { listChannels, removeChannel } from './connected-channels.ts';
import { addSandboxChannel, channelCommands, makeConnectLink } from './channels.ts';
import { adoptMediaStorage } from './adopt-media-storage.ts';
import { createDemo } from './create-demo.ts';
import { migrateDatabase } from './migrate-database.ts';
import { finishRestoredDatabase } from './finish-restore.ts';
import { postCommands } from './posts/commands.ts';
import { refreshAnalytics } from './posts/refresh-analytics.ts';
import { setQuota, showQuotas } from './quotas.ts';
import { adoptSecretKey, createKey, listKeys, revokeKey } from './keys.ts';
import { createNamedWorkspace, listWorkspaces, setPlan } from './workspaces.ts';

export const commands: Readonly<Record<string, Command>> = {
  'workspace create': {
    summary: 'Makes a workspace with a first API key, which is shown this once.',
    positionals: ['NAME'],
    options: {},
    run: createNamedWorkspace,
  },
  'workspace list': {
    summary: 'Lists the workspaces.',
    positionals: [],
    options: {},
    run: listWorkspaces,
  },
  'workspace plan': {
    summary: 'Sets the plan of a workspace; "none" ends it, and nothing new is taken from then on.',
    positionals: ['WORKSPACE_ID', 'PLAN|none'],
    options: {},
    run: setPlan,
  },
  'quota show': {
    summary: 'Shows what a workspace may have, and what it has.',
    positionals: ['WORKSPACE_ID'],
    options: {},
    run: showQuotas,
  },
  'quota set': {
    summary: `Sets how much a workspace may have of one of ${quotaNames.join(', ')}.`,
    positionals: ['WORKSPACE_ID', 'QUOTA', 'NUMBER|default'],
    options: {},
    run: setQuota,
  },
  'key create': {
    summary: 'Makes another API key of a workspace, which is shown this once.',
    positionals: ['WORKSPACE_ID'],
    options: {},
    run: createKey,
  },
  'key list': {
    summary:
      'Lists the API keys of a workspace: their last four characters, and when each was last used.',
    positionals: ['WORKSPACE_ID'],
    options: {},
    run: listKeys,
  },
  'key revoke': {
    summary: 'Revokes an API key, in every process from the next call on. It cannot be taken back.',
    positionals: ['KEY_ID'],
    options: {},
    run: revokeKey,
  },
  migrate: {
    summary:
      "Brings the database to this version's schema. The API and workers do so at their start too.",
    positionals: [],
    options: {},
    runAlone: migrateDatabase,
  },
  'storage adopt': {
    summary:
      'Takes the media storage of these settings for the one of the database, after its files were moved.',
    positionals: [],
    options: {},
    run: adoptMediaStorage,
  },
  'restore finish': {
    summary:
      'Makes a database that was restored from a backup safe to work on; until then workers send nothing.',
    positionals: [],
    options: { since: { placeholder: 'TIME', required: false } },
    takesLong: true,
    run: finishRestoredDatabase,
  },
  'secret-key adopt': {
    summary:
      'Takes this SECRET_KEY for the right one, when the one of before is gone: accounts have to be connected anew.',
    positionals: [],
    options: {},
    takesAnyKey: true,
    run: adoptSecretKey,
  },
  'channel connect': {
    summary: 'Prints a link by which a person connects an account in a browser, within 15 minutes.',
    positionals: ['WORKSPACE_ID'],
    options: {
      platform: { placeholder: platforms.join('|'), required: true },
      url: { placeholder: 'https://mastodon.example', required: false },
      handle: { placeholder: 'me.bsky.social', required: false },
      channel: { placeholder: 'CHANNEL_ID', required: false },
      'return-url': { placeholder: 'https://app.example.com/accounts', required: false },
      sandbox: { required: false },
    },
    run: makeConnectLink,
  },
  ...channelCommands,
  'channel add-sandbox': {
    summary:
      'Connects a test account of the sandbox, which plays every network with its failures. With "npm start" it knows where that is.',
    positionals: ['WORKSPACE_ID'],
    options: {
      platform: { placeholder: platforms.join('|'), required: true },
      url: { placeholder: 'http://127.0.0.1:PORT', required: false },
    },
    run: addSandboxChannel,
  },
  'channel list': {
    summary: 'Lists the accounts of a workspace, with those that were disconnected.',
    positionals: ['WORKSPACE_ID'],
    options: {},
    run: listChannels,
  },
  'channel remove': {
    summary:
      'Disconnects an account: its posts lose it, and its secrets are erased. Connecting it again brings the channel back, without those posts.',
    positionals: ['CHANNEL_ID'],
    options: {},
    run: removeChannel,
  },
  ...postCommands,
  'analytics refresh': {
    summary: "Has a post's metrics read out of turn, within what its networks allow.",
    positionals: ['POST'],
    options: {},
    run: refreshAnalytics,
  },
  'workflow replay': {
    summary:
      'Replays a workflow against the code of this version, and says where they part. Changes nothing.',
    positionals: ['WORKFLOW_ID|HISTORY.json'],
    options: {},
    // Loaded when it is wanted: Temporal's worker and the bundler are much for the other commands.
    runAlone: async (values) => (await import('./replay-workflow.ts')).replayWorkflow(values),
  },
  demo: {
    summary:
      'Makes the demo workspace with a channel of each network at the sandbox. "npm start" calls this.',
    positionals: [],
    options: {
      'sandbox-url': { placeholder: 'http://127.0.0.1:PORT', required: true },
      'key-file': { placeholder: 'FILE', required: true },
    },
    run: createDemo,
  },
};

export const commandNamed = (name: string): Command | undefined =>
  Object.hasOwn(commands, name) ? commands[name] : undefined;
