import { having, text, type Value } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote } from '../answer.ts';
import { NetworkError } from '../network.ts';
import { OauthError, type OauthAppCredentials, type OauthErrorCode } from './contract.ts';

export type AuthorizationServer = {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** Its name at the beginning of a sentence: `X`. */
  readonly name: string;
  /** Its `iss` (RFC 9207). Absent when it announces none; then `iss` is not checked. */
  readonly issuer?: string;
  /** Whether all of its responses must have `iss`. */
  readonly alwaysSaysIssuer?: boolean;
  readonly app: OauthAppCredentials;
  readonly appAdvice: string;
  /** Where the app's secret is sent: the header of HTTP Basic, or the form. */
  readonly secretIn: 'header' | 'form';
  readonly usesPkce: boolean;
  readonly scopes: readonly string[];
  readonly parameters?: Readonly<Record<string, string>>;
  /** Its own error codes for a refusal by the person, beside `access_denied`. */
  readonly denials?: readonly string[];
  /** Whether a refused refresh means that the grant has ended, beside `invalid_grant`. */
  readonly endsGrant?: (refused: OauthErrorBody) => boolean;
  /** Reads a response of the token endpoint that has the format of the network's API, such as a reached spend cap. */
  readonly refusalOf?: (
    response: EgressResponse,
    secrets: readonly string[],
  ) => NetworkError | null;
};

export type OauthErrorBody = { readonly error: string; readonly description: string };

const refusalSchema = having({ error: text }, { error_description: text });
const readBody = answerReader(refusalSchema);

/**
 * A token endpoint's error response: `details` for the end of a sentence, with the status and the server's message.
 *
 * @param secrets Removed from the server's message, which may repeat its input.
 */
export function refusedIn(response: EgressResponse, secrets: readonly string[]) {
  const { status } = response;
  // A 5xx describes a failure of the server, not a refusal.
  const body: Partial<Value<typeof refusalSchema>> =
    (status >= 400 && status < 500 && readBody(jsonOf(response))) || {};
  const { error = '', error_description: description = '' } = body;
  const words = quote(description || error, secrets);
  return { error, description, details: `(HTTP ${status})${words && `: ${words}`}` };
}

const codes: Readonly<Partial<Record<NetworkError['code'], OauthErrorCode>>> = {
  access_lost: 'no_account',
  permission_missing: 'no_account',
  internal: 'misconfigured',
};

/** @param lost What `access_lost` means: by default that the account is of no use. */
export const asOauthError = (error: unknown, lost?: OauthErrorCode): unknown =>
  error instanceof NetworkError
    ? new OauthError(
        (error.code === 'access_lost' && lost) || (codes[error.code] ?? 'unavailable'),
        error.message,
        { cause: error },
      )
    : error;
