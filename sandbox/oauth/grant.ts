import { accountNames, type AccountName } from '../account-name.ts';

/** What a person allowed an app to do. */
export type Consent = {
  readonly network: string;
  /** The account that signed in. */
  readonly account: AccountName;
  /** The app's client id. */
  readonly client: string;
  readonly scopes: readonly string[];
  /** What a network checks beside that, such as the thumbprint of a DPoP key. */
  readonly data?: Readonly<Record<string, string>> | undefined;
};

/** A grant as the data file keeps it. The tokens are no secrets, so they are kept as they are. */
export type Grant = Consent & {
  readonly id: string;
  /** The newest last. */
  readonly accessTokens: readonly (Token & { readonly issuedAtMs: number })[];
  /** The newest last. Spent ones stay, so that the reuse of one is noticed. */
  readonly refreshTokens: readonly (Token & { readonly isSpent: boolean })[];
  readonly isRevoked: boolean;
};

type Token = {
  readonly value: string;
  /** null: it has no end. */
  readonly endsAtMs: number | null;
};

/** How long a network's tokens live, and what becomes of a refresh token that is used. */
export type TokenPolicy = {
  /** null: they have no end. */
  readonly accessSeconds: number | null;
  /** `none`: there are none. `fixed`: it is used again and again. `rotating`: each is used once, and replaced. */
  readonly refresh: 'none' | 'fixed' | 'rotating';
  /** null: they have no end. */
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

/** Checks the grants in the data file. */
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
