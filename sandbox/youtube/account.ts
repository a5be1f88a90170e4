/** The one channel. */
export const account = {
  id: 'UCsandboxDemoChannel0000',
  title: 'Demo',
  handle: '@demo',
  uploads: 'UUsandboxDemoChannel0000',
  accessToken: 'demo',
  createdAt: '2026-01-01T00:00:00Z',
} as const;
