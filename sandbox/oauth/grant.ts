import { accountNames, type AccountName } from '../account-name.ts';

/** A user's consent for an app. */
export type Consent = {
  readonly network: string;
  /** The account that signed in. */
  readonly account: AccountName;
  /** The app's client id. */
  readonly client: string;
  readonly scopes: readonly string[];
  /** Further data that a network checks, such as the thumbprint of a DPoP key. */
  readonly data?: Readonly<Record<string, string>> | undefined;
};

/** A grant in the data file. Its tokens are not secret, so they are stored as they are. */
export type SandboxGrant = Consent & {
  readonly id: string;
  /** The newest is last. */
  readonly accessTokens: readonly (Token & { readonly issuedAtMs: number })[];
  /** The newest is last. Used ones are kept, to detect reuse. */
  readonly refreshTokens: readonly (Token & { readonly isSpent: boolean })[];
  readonly isRevoked: boolean;
};

type Token = {
  readonly value: string;
  /** null: does not expire. */
  readonly endsAtMs: number | null;
};

/** Lifetimes of a network's tokens, and the kind of refresh tokens. */
export type TokenPolicy = {
  /** null: they do not expire. */
  readonly accessSeconds: number | null;
  /** `none`: no refresh tokens. `fixed`: reusable. `rotating`: each is used once and replaced. */
  readonly refresh: 'none' | 'fixed' | 'rotating';
  /** null: they do not expire. */
  readonly refreshSeconds: number | null;
};

const token = {
  type: 'object',
  required: ['value', 'endsAtMs'],
  properties: {
    value: { type: 'string' },
    endsAtMs: { type: ['number', 'null'] },
    issuedAtMs: { type: 'number' },
    isSpent: { type: 'boolean' },
  },
};

/** Validates the grants in the data file. */
export const grantSchema = {
  type: 'object',
  required: ['id', 'network', 'account', 'client', 'scopes', 'accessTokens', 'refreshTokens'],
  properties: {
    id: { type: 'string' },
    network: { type: 'string' },
    account: { enum: accountNames },
    client: { type: 'string' },
    scopes: { type: 'array', items: { type: 'string' } },
    data: { type: 'object', additionalProperties: { type: 'string' } },
    accessTokens: {
      type: 'array',
      items: { ...token, required: [...token.required, 'issuedAtMs'] },
    },
    refreshTokens: { type: 'array', items: token },
    isRevoked: { type: 'boolean' },
  },
};
