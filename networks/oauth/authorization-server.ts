import type { EgressResponse } from '../../runtime/egress/egress.ts';
import type { NetworkError } from '../network.ts';
import type { OauthApp } from '../oauth.ts';

/** Where an authorization server takes browsers and requests. */
export type Endpoints = { readonly authorizeUrl: string; readonly tokenUrl: string };

/** An authorization server, how this service is registered there, and what it wants otherwise than others. */
export type AuthorizationServer = Endpoints & {
  /** How people know it, at the beginning of a sentence: `X`. */
  readonly name: string;
  /** What it says of itself as `iss` (RFC 9207); left out where it announces none, and then none is compared. */
  readonly issuer?: string;
  /** Whether each of its answers must have `iss`. */
  readonly alwaysSaysIssuer?: boolean;
  readonly app: OauthApp;
  /** For the operator, where the server refuses the app: what to check. */
  readonly appAdvice: string;
  /** Where the app's secret goes: the header of HTTP Basic, or the form. */
  readonly secretIn: 'header' | 'form';
  readonly usesPkce: boolean;
  readonly scopes: readonly string[];
  /** More of the address that the browser opens: `access_type=offline`. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Its own names of a "no", beside `access_denied`. */
  readonly denials?: readonly string[];
  /** Whether a refusal of a refresh says that the grant is over, beside `invalid_grant`. */
  readonly endsGrant?: (refused: Refused) => boolean;
  /**
   * Reads an answer of the token endpoint in the shape of the network's API: that the app has reached its spend cap.
   *
   * @returns null for an answer of an authorization server.
   */
  readonly refusalOf?: (
    response: EgressResponse,
    secrets: readonly string[],
  ) => NetworkError | null;
};

/** What a token endpoint says against a request (RFC 6749, section 5.2). Both are the server's words, as they came. */
export type Refused = { readonly error: string; readonly description: string };
