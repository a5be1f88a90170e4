import type { Command } from '../command.ts';
import { retryOne, settleOne } from './lifecycle.ts';
import { listTroubledPosts } from './list-posts.ts';
import { replayPosts } from './replay-posts.ts';
import { showPostHistory } from './show-post.ts';

/** Commands for posts that need an operator: docs/operations.md explains them. */
export const postCommands = {
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
} as const satisfies Record<string, Command>;
