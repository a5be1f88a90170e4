import { scopes } from '../../domain/api-keys.ts';
import { quotaNames } from '../../domain/quotas.ts';
import { platforms } from '../../networks/registry.ts';
import {
  listChannels,
  removeChannel,
  renameChannel,
  addSandboxChannel,
  channelCommands,
  makeConnectLink,
} from './channels.ts';
import type { Command } from './command.ts';
import { createDemo } from './create-demo.ts';
import {
  adoptMediaStorage,
  migrateDatabase,
  finishRestoredDatabase,
  adoptSecretKey,
} from './installation.ts';
import { createKey, listKeys, revokeKey } from './keys.ts';
import { createOperatorKey, listOperatorKeys, revokeOperatorKey } from './operator-keys.ts';
import { refreshAnalytics, retryOne, settleOne } from './posts/lifecycle.ts';
import { listTroubledPosts } from './posts/list-posts.ts';
import { retryNow } from './posts/retry-now.ts';
import { replayPosts } from './posts/replay-posts.ts';
import { showPostHistory } from './posts/show-post.ts';
import {
  createNamedWorkspace,
  listWorkspaces,
  removeWorkspace,
  renameWorkspace,
  setPlan,
  setQuota,
  showQuotas,
} from './workspaces.ts';

export const commands: Readonly<Record<string, Command>> = {
  'workspace create': {
    summary: 'Creates a workspace with a first API key, which is shown only now.',
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
    summary: 'Sets the plan of a workspace; with "none" it cannot create new posts.',
    positionals: ['WORKSPACE_ID', 'PLAN|none'],
    options: {},
    run: setPlan,
  },
  'workspace rename': {
    summary: 'Renames a workspace.',
    positionals: ['WORKSPACE_ID', 'NAME'],
    options: {},
    run: renameWorkspace,
  },
  'workspace delete': {
    summary:
      'Deletes a workspace with everything in it, in the background, after its name is typed or given by --yes.',
    positionals: ['WORKSPACE_ID'],
    options: { yes: { placeholder: 'NAME', required: false } },
    run: removeWorkspace,
  },
  'operator-key create': {
    summary:
      'Creates a key that manages workspaces by the API (/workspaces) and reads nothing in them. It is shown only now.',
    positionals: ['NAME'],
    options: { expires: { placeholder: 'TIME', required: false } },
    run: createOperatorKey,
  },
  'operator-key list': {
    summary: 'Lists the operator keys.',
    positionals: [],
    options: {},
    run: listOperatorKeys,
  },
  'operator-key revoke': {
    summary: 'Revokes an operator key, in every process from the next call on.',
    positionals: ['KEY_ID'],
    options: {},
    run: revokeOperatorKey,
  },
  'quota show': {
    summary: 'Shows the quotas of a workspace and their usage.',
    positionals: ['WORKSPACE_ID'],
    options: {},
    run: showQuotas,
  },
  'quota set': {
    summary: `Sets a quota of a workspace: ${quotaNames.join(', ')}.`,
    positionals: ['WORKSPACE_ID', 'QUOTA', 'NUMBER|default'],
    options: {},
    run: setQuota,
  },
  'key create': {
    summary: `Creates another API key of a workspace, which is shown only now. It has all rights, or these. Scopes: ${scopes.join(', ')}.`,
    positionals: ['WORKSPACE_ID'],
    options: {
      name: { placeholder: 'NAME', required: false },
      scopes: { placeholder: 'posts:read,posts:write', required: false },
      channels: { placeholder: 'CHANNEL_ID,CHANNEL_ID', required: false },
      expires: { placeholder: 'TIME', required: false },
    },
    run: createKey,
  },
  'key list': {
    summary:
      'Lists the API keys of a workspace, with their last four characters, last use and rights.',
    positionals: ['WORKSPACE_ID'],
    options: {},
    run: listKeys,
  },
  'key revoke': {
    summary: 'Revokes an API key, in every process from the next call on. This cannot be undone.',
    positionals: ['KEY_ID'],
    options: {},
    run: revokeKey,
  },
  migrate: {
    summary:
      "Migrates the database to this version's schema. The API and workers also do this at their start.",
    positionals: [],
    options: {},
    runAlone: migrateDatabase,
  },
  'storage adopt': {
    summary:
      'Accepts the media storage of these settings for the database, after its files were moved.',
    positionals: [],
    options: {},
    run: adoptMediaStorage,
  },
  'restore finish': {
    summary:
      'Prepares a database that was restored from a backup; until then workers send nothing.',
    positionals: [],
    options: { since: { placeholder: 'TIME', required: false } },
    takesLong: true,
    run: finishRestoredDatabase,
  },
  'secret-key adopt': {
    summary:
      'Accepts the current SECRET_KEY after the old one was lost; accounts must be connected again.',
    positionals: [],
    options: {},
    takesAnyKey: true,
    run: adoptSecretKey,
  },
  'channel connect': {
    summary:
      'Prints a link with which a person connects an account in a browser, within 15 minutes.',
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
      'Connects a test account of the sandbox, which simulates every network and its failures. With "npm start" it finds the sandbox itself.',
    positionals: ['WORKSPACE_ID'],
    options: {
      platform: { placeholder: platforms.join('|'), required: true },
      url: { placeholder: 'http://127.0.0.1:PORT', required: false },
    },
    run: addSandboxChannel,
  },
  'channel list': {
    summary: 'Lists the accounts of a workspace, including disconnected ones.',
    positionals: ['WORKSPACE_ID'],
    options: {},
    run: listChannels,
  },
  'channel remove': {
    summary:
      'Disconnects an account and erases its secrets. Its posts fail there at their time, unless the account is connected again before.',
    positionals: ['CHANNEL_ID'],
    options: {},
    run: removeChannel,
  },
  'channel rename': {
    summary: "Changes the display name of a channel; an empty one shows the network's again.",
    positionals: ['CHANNEL_ID', 'NAME'],
    options: {},
    run: renameChannel,
  },
  // docs/operate/operations.md explains the commands for posts.
  'post list': {
    summary:
      'Lists posts of all workspaces that are overdue by 30 s, have failed or have an unconfirmed channel.',
    positionals: [],
    options: {
      overdue: { required: false },
      failed: { required: false },
      unconfirmed: { required: false },
      workspace: { placeholder: 'WORKSPACE_ID', required: false },
      limit: { placeholder: '50', required: false },
    },
    oneOf: ['overdue', 'failed', 'unconfirmed'],
    run: listTroubledPosts,
  },
  'post show': {
    summary:
      'Shows the history of a post: channels, attempts, events, deliveries and its workflow.',
    positionals: ['POST'],
    options: {},
    run: showPostHistory,
  },
  'post retry': {
    summary: 'Sends a post again to its failed channels, never to an unconfirmed one.',
    positionals: ['POST'],
    options: {},
    run: retryOne,
  },
  'post retry-now': {
    summary:
      'Starts the next attempt of waiting channels at once, of a post or of all posts of a network.',
    positionals: [],
    options: {
      post: { placeholder: 'POST', required: false },
      platform: { placeholder: platforms.join('|'), required: false },
    },
    oneOf: ['post', 'platform'],
    run: retryNow,
  },
  'post settle': {
    summary:
      'Settles an unconfirmed channel: gives the URL of its post, or states that it is not there.',
    positionals: ['POST', 'CHANNEL'],
    options: {
      published: { placeholder: 'URL', required: false },
      'not-published': { required: false },
    },
    oneOf: ['published', 'not-published'],
    run: settleOne,
  },
  'post replay': {
    summary:
      'Retries the posts that failed in an outage. TIME is 2027-03-01T09:00:00Z, or how long ago it was, such as 2h.',
    positionals: [],
    options: {
      since: { placeholder: 'TIME', required: true },
      until: { placeholder: 'TIME', required: false },
      code: { placeholder: 'CODE', required: false },
      workspace: { placeholder: 'WORKSPACE_ID', required: false },
      'dry-run': { required: false },
    },
    run: replayPosts,
  },
  'analytics refresh': {
    summary: "Refreshes a post's metrics early, within the limits of its networks.",
    positionals: ['POST'],
    options: {},
    run: refreshAnalytics,
  },
  'workflow replay': {
    summary:
      'Replays a workflow against the code of this version, and shows where they diverge. Changes nothing.',
    positionals: ['WORKFLOW_ID|HISTORY.json'],
    options: {},
    // Loaded on demand: Temporal's worker and the bundler would slow the other commands.
    runAlone: async (values) => (await import('./replay-workflow.ts')).replayWorkflow(values),
  },
  demo: {
    summary:
      'Creates the demo workspace with a sandbox channel of each network. "npm start" runs this.',
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
