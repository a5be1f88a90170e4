/** The one account. */
export const account = {
  did: 'did:plc:punctualsandboxdemo22222',
  handle: 'demo.sandbox.test',
  displayName: 'Demo',
  appPassword: 'demo',
} as const;
