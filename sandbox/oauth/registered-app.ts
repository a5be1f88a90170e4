import type { SandboxOauthApp } from './code-flow.ts';

/** An app that registered itself. */
export type RegisteredApp = SandboxOauthApp & {
  readonly id: string;
  readonly website: string | null;
  readonly redirectUris: readonly string[];
  readonly scopes: readonly string[];
};

const strings = { type: 'array', items: { type: 'string' } };

/** Validates the apps in the data file. */
export const registeredAppSchema = {
  type: 'object',
  required: ['id', 'clientId', 'secret', 'name', 'website', 'redirectUris', 'scopes'],
  properties: {
    id: { type: 'string' },
    clientId: { type: 'string' },
    secret: { type: 'string' },
    name: { type: 'string' },
    website: { type: ['string', 'null'] },
    redirectUris: strings,
    scopes: strings,
  },
};
