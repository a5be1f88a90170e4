/** The one account. */
export const account = {
  id: '2000000000000000001',
  username: 'demo',
  displayName: 'Demo',
  accessToken: 'demo',
} as const;
