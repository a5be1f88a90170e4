const id = '0192f0d1-2b7c-7e4a-8f35-1c9d6e2a4b80';

export const key = {
  id,
  name: 'Newsroom, drafts only',
  last_four: 'x7Qa',
  scopes: ['posts:read', 'posts:write', 'media'] as const,
  channel_ids: ['0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31'],
  expires_at: '2027-06-01T00:00:00.000Z',
  last_used_at: '2027-03-01T09:00:00.000Z',
  created_at: '2027-02-01T09:00:00.000Z',
};

const allRights = {
  ...key,
  id: '0192f0d0-6a1b-7d3c-9e58-7b2f4c8d1a60',
  name: null,
  last_four: 'B3kz',
  scopes: [...key.scopes, 'posts:publish', 'channels', 'webhooks', 'analytics', 'keys'] as const,
  channel_ids: null,
  expires_at: null,
};

export const all = { summary: 'Two keys', value: { keys: [allRights, key] } };

export const newKeys = {
  drafts: {
    summary: 'Drafts for one channel, until June',
    value: {
      name: key.name,
      scopes: key.scopes,
      channel_ids: key.channel_ids,
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

export const created = {
  summary: 'The key is shown this once',
  value: {
    key: { ...key, last_used_at: null, key: 'svc_live_0Yb2cD4eF6gH8iJ0kL2mN4oP6qR8x7Qa' },
  },
};

export const edits = {
  narrower: { summary: 'Fewer rights', value: { scopes: ['posts:read'] } },
  unlimited: {
    summary: 'All channels, without an end',
    value: { channel_ids: null, expires_at: null },
  },
};

export const edited = {
  summary: 'The key',
  value: { key: { ...key, scopes: ['posts:read'] as const } },
};

export const revoked = { summary: 'Revoked', value: { ok: true, id } };
