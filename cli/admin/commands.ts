import { scopes } from '../../domain/api-keys.ts';
import { quotaNames } from '../../domain/quotas.ts';
import type { Command, Option } from './command.ts';

const required = (placeholder: string, brief: string): Option => ({
  placeholder,
  brief,
  required: true,
});
const optional = (placeholder: string, brief: string): Option => ({ placeholder, brief });
const toggle = (brief: string): Option => ({ brief });

const platform = required('PLATFORM', 'Such as mastodon');
const expires = optional('TIME', 'When it expires');
const ofWorkspace = optional('WORKSPACE_ID', 'Only of this workspace');

/** The commands without those of the networks. A command's code is loaded when it runs. */
export const commands: Readonly<Record<string, Command>> = {
  'workspace create': {
    summary: 'Creates a workspace with a first API key, which is shown only now',
    positionals: ['NAME'],
    load: async () => (await import('./workspaces.ts')).createNamedWorkspace,
  },
  'workspace list': {
    summary: 'Lists the workspaces',
    load: async () => (await import('./workspaces.ts')).listWorkspaces,
  },
  'workspace plan': {
    summary: 'Sets the plan of a workspace; with "none" it cannot create new posts',
    positionals: ['WORKSPACE_ID', 'PLAN|none'],
    load: async () => (await import('./workspaces.ts')).setPlan,
  },
  'workspace rename': {
    summary: 'Renames a workspace',
    positionals: ['WORKSPACE_ID', 'NAME'],
    load: async () => (await import('./workspaces.ts')).renameWorkspace,
  },
  'workspace delete': {
    summary: 'Deletes a workspace with everything in it, in the background',
    positionals: ['WORKSPACE_ID'],
    options: { yes: optional('NAME', 'Its name; asked for if omitted') },
    load: async () => (await import('./workspaces.ts')).removeWorkspace,
  },
  'operator-key create': {
    summary:
      'Creates a key that manages workspaces by the API (/workspaces) and reads nothing in them; it is shown only now',
    positionals: ['NAME'],
    options: { expires },
    load: async () => (await import('./operator-keys.ts')).createOperatorKey,
  },
  'operator-key list': {
    summary: 'Lists the operator keys',
    load: async () => (await import('./operator-keys.ts')).listOperatorKeys,
  },
  'operator-key revoke': {
    summary: 'Revokes an operator key, in every process from the next call on',
    positionals: ['KEY_ID'],
    load: async () => (await import('./operator-keys.ts')).revokeOperatorKey,
  },
  'quota show': {
    summary: 'Shows the quotas of a workspace and their usage',
    positionals: ['WORKSPACE_ID'],
    load: async () => (await import('./workspaces.ts')).showQuotas,
  },
  'quota set': {
    summary: `Sets a quota of a workspace: ${quotaNames.join(', ')}`,
    positionals: ['WORKSPACE_ID', 'QUOTA', 'NUMBER|default'],
    load: async () => (await import('./workspaces.ts')).setQuota,
  },
  'key create': {
    summary: 'Creates another API key of a workspace, which is shown only now',
    positionals: ['WORKSPACE_ID'],
    options: {
      name: optional('NAME', 'For people'),
      scopes: optional('SCOPE,SCOPE', `Of ${scopes.join(', ')}; all if omitted`),
      channels: optional('CHANNEL_ID,CHANNEL_ID', 'The only channels that it sees'),
      expires,
    },
    load: async () => (await import('./keys.ts')).createKey,
  },
  'key list': {
    summary: 'Lists the API keys of a workspace',
    positionals: ['WORKSPACE_ID'],
    load: async () => (await import('./keys.ts')).listKeys,
  },
  'key revoke': {
    summary: 'Revokes an API key, in every process from the next call on',
    positionals: ['KEY_ID'],
    load: async () => (await import('./keys.ts')).revokeKey,
  },
  migrate: {
    summary:
      "Migrates the database to this version's schema, as the API and workers do at their start",
    loadAlone: async () => (await import('./installation.ts')).migrateDatabase,
  },
  'storage adopt': {
    summary:
      'Accepts the media storage of these settings for the database, after its files were moved',
    load: async () => (await import('./installation.ts')).adoptMediaStorage,
  },
  'restore finish': {
    summary: 'Prepares a database that was restored from a backup; until then workers send nothing',
    options: { since: optional('TIME', 'When the backup began; found if omitted') },
    takesLong: true,
    load: async () => (await import('./installation.ts')).finishRestoredDatabase,
  },
  'secret-key adopt': {
    summary:
      'Accepts the current SECRET_KEY after the old one was lost; accounts must be connected again',
    takesAnyKey: true,
    load: async () => (await import('./installation.ts')).adoptSecretKey,
  },
  'channel connect': {
    summary:
      'Prints a link with which a person connects an account in a browser, within 15 minutes',
    positionals: ['WORKSPACE_ID'],
    options: {
      platform,
      url: optional('URL', 'Its server, such as https://mastodon.example'),
      handle: optional('HANDLE', 'Of a Bluesky account, such as me.bsky.social'),
      channel: optional('CHANNEL_ID', 'Connects the account of this channel again'),
      'return-url': optional('URL', 'Where the browser goes afterwards'),
      sandbox: toggle('Connects an account of the sandbox'),
    },
    load: async () => (await import('./channels.ts')).makeConnectLink,
  },
  'channel add-sandbox': {
    summary:
      'Connects a test account of the sandbox, which simulates every network and its failures',
    positionals: ['WORKSPACE_ID'],
    options: { platform, url: optional('URL', 'The sandbox; with "npm start" it is known') },
    load: async () => (await import('./channels.ts')).addSandboxChannel,
  },
  'channel list': {
    summary: 'Lists the accounts of a workspace, including disconnected ones',
    positionals: ['WORKSPACE_ID'],
    load: async () => (await import('./channels.ts')).listChannels,
  },
  'channel remove': {
    summary:
      'Disconnects an account and erases its secrets. Its posts fail there at their time, unless the account is connected again before',
    positionals: ['CHANNEL_ID'],
    load: async () => (await import('./channels.ts')).removeChannel,
  },
  'channel rename': {
    summary: "Changes the display name of a channel; an empty one shows the network's again",
    positionals: ['CHANNEL_ID', 'NAME'],
    load: async () => (await import('./channels.ts')).renameChannel,
  },
  // docs/operate/operations.md explains the commands for posts.
  'post list': {
    summary:
      'Lists posts of all workspaces that are overdue by 30 s, have failed or have an unconfirmed channel',
    options: {
      overdue: toggle('Those that are overdue by 30 s'),
      failed: toggle('Those that failed'),
      unconfirmed: toggle('Those with an unconfirmed channel'),
      workspace: ofWorkspace,
      limit: optional('N', '50 if omitted'),
    },
    oneOf: ['overdue', 'failed', 'unconfirmed'],
    load: async () => (await import('./posts/list-posts.ts')).listTroubledPosts,
  },
  'post show': {
    summary: 'Shows the history of a post: channels, attempts, events, deliveries and its workflow',
    positionals: ['POST'],
    load: async () => (await import('./posts/show-post.ts')).showPostHistory,
  },
  'post retry': {
    summary: 'Sends a post again to its failed channels, never to an unconfirmed one',
    positionals: ['POST'],
    load: async () => (await import('./posts/lifecycle.ts')).retryOne,
  },
  'post retry-now': {
    summary: 'Starts the next attempt of waiting channels at once',
    options: {
      post: optional('POST', 'Of this post'),
      platform: optional('PLATFORM', 'Of all posts on this network'),
    },
    oneOf: ['post', 'platform'],
    load: async () => (await import('./posts/retry-now.ts')).retryNow,
  },
  'post settle': {
    summary: 'Settles an unconfirmed channel',
    positionals: ['POST', 'CHANNEL'],
    options: {
      published: optional('URL', 'The post is on the network, here'),
      'not-published': toggle('The post is not on the network'),
    },
    oneOf: ['published', 'not-published'],
    load: async () => (await import('./posts/lifecycle.ts')).settleOne,
  },
  'post replay': {
    summary: 'Retries the posts that failed in an outage',
    options: {
      since: required('TIME', '2027-03-01T09:00:00Z, or how long ago it was, such as 2h'),
      until: optional('TIME', 'The same; now if omitted'),
      code: optional('CODE', 'Only channels with this error_code'),
      workspace: ofWorkspace,
      'dry-run': toggle('Only counts them'),
    },
    load: async () => (await import('./posts/replay-posts.ts')).replayPosts,
  },
  'analytics refresh': {
    summary: "Refreshes a post's metrics early, within the limits of its networks",
    positionals: ['POST'],
    load: async () => (await import('./posts/lifecycle.ts')).refreshAnalytics,
  },
  'workflow replay': {
    summary:
      'Replays a workflow against the code of this version, and shows where they diverge. Changes nothing',
    positionals: ['WORKFLOW_ID|HISTORY.json'],
    loadAlone: async () => (await import('./replay-workflow.ts')).replayWorkflow,
  },
  demo: {
    summary: 'Creates the demo workspace with a sandbox channel of each network, for "npm start"',
    options: {
      'sandbox-url': required('URL', 'Address of the sandbox'),
      'key-file': required('FILE', 'Keeps the API key'),
    },
    load: async () => (await import('./create-demo.ts')).createDemo,
  },
};
