/** The one account. */
export const account = {
  id: '100000000000000001',
  username: 'demo',
  domain: 'sandbox',
  displayName: 'Demo',
  accessToken: 'demo',
  createdAt: '2026-01-01T00:00:00.000Z',
} as const;
