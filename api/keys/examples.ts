import { ids } from '../openapi/example-of.ts';

export const newKeys = {
  drafts: {
    summary: 'Drafts for one channel, until June',
    value: {
      name: 'Newsroom, drafts only',
      scopes: ['posts:read', 'posts:write', 'media'],
      channel_ids: [ids.channel],
      expires_at: '2027-06-01T00:00:00Z',
    },
  },
};

export const workspaceKeys = {
  all: { summary: 'All rights', value: {} },
  limited: {
    summary: 'Drafts only',
    value: { name: 'Newsroom', scopes: ['posts:read', 'posts:write', 'media'] },
  },
};

export const edits = {
  narrower: { summary: 'Fewer rights', value: { scopes: ['posts:read'] } },
  unlimited: {
    summary: 'All channels, without an end',
    value: { channel_ids: null, expires_at: null },
  },
};
