/** The one account of each network. A newcomer needs no more, and its credentials are no secret. */
export const mastodonAccount = {
  id: '100000000000000001',
  username: 'demo',
  domain: 'sandbox',
  displayName: 'Demo',
  accessToken: 'demo',
  createdAt: '2026-01-01T00:00:00.000Z',
} as const;

export const blueskyAccount = {
  did: 'did:plc:punctualsandboxdemo22222',
  handle: 'demo.sandbox.test',
  displayName: 'Demo',
  appPassword: 'demo',
} as const;
