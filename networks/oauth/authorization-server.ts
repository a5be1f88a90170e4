import type { EgressResponse } from '../../runtime/egress/egress.ts';
import type { NetworkError } from '../network.ts';
import type { OauthAppCredentials } from './contract.ts';

/** An authorization server's URLs. */
export type Endpoints = { readonly authorizeUrl: string; readonly tokenUrl: string };

/** An authorization server, this service's registration there, and its peculiarities. */
export type AuthorizationServer = Endpoints & {
  /** Its name at the beginning of a sentence: `X`. */
  readonly name: string;
  /** Its `iss` (RFC 9207). Absent when it announces none; then `iss` is not checked. */
  readonly issuer?: string;
  /** Whether all of its responses must have `iss`. */
  readonly alwaysSaysIssuer?: boolean;
  readonly app: OauthAppCredentials;
  /** Tells the operator what to check when the server refuses the app. */
  readonly appAdvice: string;
  /** Where the app's secret is sent: the header of HTTP Basic, or the form. */
  readonly secretIn: 'header' | 'form';
  readonly usesPkce: boolean;
  readonly scopes: readonly string[];
  /** Additional parameters of the authorization URL: `access_type=offline`. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Its own error codes for a refusal by the person, beside `access_denied`. */
  readonly denials?: readonly string[];
  /** Whether a refused refresh means that the grant has ended, beside `invalid_grant`. */
  readonly endsGrant?: (refused: OauthErrorBody) => boolean;
  /**
   * Reads a response of the token endpoint that has the format of the network's API, such as a reached spend cap.
   *
   * @returns null for an ordinary OAuth response.
   */
  readonly refusalOf?: (
    response: EgressResponse,
    secrets: readonly string[],
  ) => NetworkError | null;
};

/** A token endpoint's error (RFC 6749, section 5.2), unchanged. */
export type OauthErrorBody = { readonly error: string; readonly description: string };
