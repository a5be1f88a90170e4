import type { Command } from '../command.ts';
import { retryOne, settleOne } from './lifecycle.ts';
import { listPosts } from './list-posts.ts';
import { replayPosts } from './replay-posts.ts';
import { showPost } from './show-post.ts';

/** What an operator does about posts that did not go as they should: docs/operations.md walks through it. */
export const postCommands = {
  'post list': {
    summary:
      'Lists posts of all workspaces that are overdue by 30 s, that failed, or of which a channel is unconfirmed.',
    positionals: [],
    options: {
      overdue: { required: false },
      failed: { required: false },
      unconfirmed: { required: false },
      workspace: { placeholder: 'WORKSPACE_ID', required: false },
      limit: { placeholder: '50', required: false },
    },
    oneOf: ['overdue', 'failed', 'unconfirmed'],
    run: listPosts,
  },
  'post show': {
    summary:
      "Shows a post's whole story: channels, attempts, events, deliveries, and its workflow.",
    positionals: ['POST'],
    options: {},
    run: showPost,
  },
  'post retry': {
    summary: 'Sends a post again to the channels that failed; never to one that is unconfirmed.',
    positionals: ['POST'],
    options: {},
    run: retryOne,
  },
  'post settle': {
    summary: 'Says of an unconfirmed channel where its post is, or that it is not there.',
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
      'Sends again what failed in an outage: TIME is 2027-03-01T09:00:00Z, or how long ago it was, such as 2h.',
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
} as const satisfies Record<string, Command>;
