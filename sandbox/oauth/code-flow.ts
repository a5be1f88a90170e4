import type { Context } from 'koa';
import type { AccountName, Identity } from '../account-name.ts';
import type { Consent, TokenPolicy } from './grant.ts';
import type { Issued } from './grants.ts';
import type { Fault, OauthRefusal } from './oauth-refusal.ts';

/** An app that asks for access. */
export type OauthApp = {
  readonly clientId: string;
  readonly secret: string;
  /** As people see it. */
  readonly name: string;
  /** Where a browser may be sent back; null: to any https or loopback address. */
  readonly redirectUris: readonly string[] | null;
  /** What it may ask for; null: for all that the network has. */
  readonly scopes: readonly string[] | null;
};

/** The authorization code flow as one network has it. */
export type CodeFlow = {
  readonly network: string;
  readonly label: string;
  readonly accounts: Readonly<Record<AccountName, Identity>>;
  /** What apps may ask for, and what it means for a person. */
  readonly scopes: Readonly<Record<string, string>>;
  /** Whether the person may leave out some of what the app asks for. */
  readonly picksScopes?: boolean;
  /** What an app that names no scope asks for. Without it, it has to name some. */
  readonly defaultScope?: string;
  /** Paths in the sandbox. */
  readonly authorizePath: string;
  readonly tokenPath: string;
  findApp(clientId: string): OauthApp | undefined;
  /** How apps prove who they are at the token endpoint. */
  readonly authentication: readonly ('basic' | 'body')[];
  /** What an authorization request must have, beside the app, the redirect address and the kind of response. */
  readonly required: readonly string[];
  /** Whether a wrong request is told to the app by a redirect. The person sees a page otherwise. */
  readonly tellsApp: boolean;
  /** What the app is told when it asks for what it may not have. */
  readonly scopeError: string;
  /** What the app is told when the person denies. */
  readonly denial: Readonly<Record<string, string>>;
  /** What of an authorization request decides about the tokens. */
  remember?(query: URLSearchParams): Readonly<Record<string, string>>;
  /** What goes back to the app beside the code and the state. */
  addToCallback?(consent: Consent): Readonly<Record<string, string>>;
  /**
   * What becomes of what a person allowed the same app before. `same tokens`: with the same scopes, the app gets the
   * tokens that it has. `new scopes`: other scopes than now end it.
   */
  readonly regranting?: 'same tokens' | 'new scopes';
  policyOf(consent: Consent): TokenPolicy;
  /** The body that hands out tokens. @param isFirst Whether a code was exchanged for them. */
  present(issued: Issued, isFirst: boolean, ctx: Context): object;
  refusalOf(fault: Fault): OauthRefusal;
};

/** The app of all networks but Mastodon, where apps register themselves. */
const sandboxApp: OauthApp = {
  clientId: 'punctual',
  secret: 'sandbox',
  name: 'Punctual',
  redirectUris: null,
  scopes: null,
};

/** What an operator must know of the app, for the page. */
export const signInByOauth = {
  'Client id': sandboxApp.clientId,
  'Client secret': sandboxApp.secret,
} as const;

export const findSandboxApp = (clientId: string): OauthApp | undefined =>
  clientId === sandboxApp.clientId ? sandboxApp : undefined;
