/** Whose posts there are. The token is the demo account's. */
export const accounts = {
  demo: { id: '2000000000000000001', username: 'demo', displayName: 'Demo' },
  second: { id: '2000000000000000002', username: 'second', displayName: 'Second' },
} as const;

export const account = { ...accounts.demo, accessToken: 'demo' } as const;
