import type { Context } from 'koa';
import type { AccountName, Identity } from '../account-name.ts';
import type { Consent, TokenPolicy } from './grant.ts';
import type { Issued } from './grants.ts';
import type { Fault, OauthRefusal } from './oauth-refusal.ts';

/** An app. */
export type SandboxOauthApp = {
  readonly clientId: string;
  readonly secret: string;
  /** The displayed name. */
  readonly name: string;
  /** Allowed redirect URIs; null: any https or loopback URI. */
  readonly redirectUris: readonly string[] | null;
  /** Allowed scopes; null: all of the network. */
  readonly scopes: readonly string[] | null;
};

/** A network's authorization code flow. */
export type CodeFlow = {
  readonly network: string;
  readonly label: string;
  readonly accounts: Readonly<Record<AccountName, Identity>>;
  /** Scopes, with their meaning for the user. */
  readonly scopes: Readonly<Record<string, string>>;
  /** Whether the user may deselect scopes. */
  readonly picksScopes?: boolean;
  /** Scope of a request without one. Without it, a scope is required. */
  readonly defaultScope?: string;
  /** Paths in the sandbox. */
  readonly authorizePath: string;
  readonly tokenPath: string;
  findApp(clientId: string): SandboxOauthApp | undefined;
  /** Client authentication at the token endpoint. */
  readonly authentication: readonly ('basic' | 'body')[];
  /** Required parameters, besides client_id, redirect_uri and response_type. */
  readonly required: readonly string[];
  /** Whether an invalid request redirects to the app with an error. Otherwise, the user sees an error page. */
  readonly tellsApp: boolean;
  /** Error code for a scope that is not allowed. */
  readonly scopeError: string;
  /** Parameters of the redirect after the user has denied access. */
  readonly denial: Readonly<Record<string, string>>;
  /** Extracts the parameters that decide about the tokens. */
  remember?(query: URLSearchParams): Readonly<Record<string, string>>;
  /** Additional parameters of the redirect, besides code and state. */
  addToCallback?(consent: Consent): Readonly<Record<string, string>>;
  /**
   * Effect on an earlier grant for the same app. `same tokens`: with the same scopes, the app gets the existing tokens.
   * `new scopes`: a grant with other scopes is revoked.
   */
  readonly regranting?: 'same tokens' | 'new scopes';
  policyOf(consent: Consent): TokenPolicy;
  /** The response with tokens. @param isFirst Whether they are for a code. */
  present(issued: Issued, isFirst: boolean, ctx: Context): object;
  refusalOf(fault: Fault): OauthRefusal;
};

/** The app of all networks except Mastodon, where apps register themselves. */
const sandboxApp: SandboxOauthApp = {
  clientId: 'punctual',
  secret: 'sandbox',
  name: 'Punctual',
  redirectUris: null,
  scopes: null,
};

/** The app's credentials, for the page. */
export const signInByOauth = {
  'Client id': sandboxApp.clientId,
  'Client secret': sandboxApp.secret,
} as const;

export const findSandboxApp = (clientId: string): SandboxOauthApp | undefined =>
  clientId === sandboxApp.clientId ? sandboxApp : undefined;
