import { having, text, type Value } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs } from '../answer.ts';
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

/** A token endpoint's error response. Contains no secret. */
export class TokenRefusal extends Error {
  override readonly name = 'TokenRefusal';
  readonly status: number;
  /** Empty when the response is not from a token endpoint, but from a proxy for example. */
  readonly refused: OauthErrorBody;
  /** For the end of a sentence: the status, and the server's message in quotation marks if there is one. */
  readonly details: string;
  readonly retryAtMs: number | undefined;

  /** @param secrets Removed from the server's message, which may repeat its input. */
  constructor(response: EgressResponse, secrets: readonly string[], nowMs: number) {
    const { error = '', error_description: description = '' } = readRefusal(response);
    const serverMessage = quote(description || error, secrets);
    const details = `(HTTP ${response.status})${serverMessage && `: ${serverMessage}`}`;
    super(`The token endpoint refused ${details}.`);
    this.status = response.status;
    this.refused = { error, description };
    this.details = details;
    this.retryAtMs = retryAtMs(response, nowMs);
  }
}

const refusalSchema = having({ error: text }, { error_description: text });
const readBody = answerReader(refusalSchema);

/** Reads only 4xx: a 5xx describes a failure of the server, not a refusal. */
const readRefusal = (response: EgressResponse): Partial<Value<typeof refusalSchema>> =>
  (response.status >= 400 && response.status < 500 && readBody(jsonOf(response))) || {};

/** Token endpoint errors that concern the app (RFC 6749, section 5.2; `deleted_client` is Google's). */
export const aboutApp: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'deleted_client',
  'disabled_client',
]);

type Named = Pick<AuthorizationServer, 'name' | 'appAdvice'>;

export function asOauthError(error: unknown, server: Named): unknown {
  if (error instanceof TokenRefusal) {
    return refusalToOauthError(error, server);
  }

  return error instanceof NetworkError ? networkToOauthError(error) : error;
}

function refusalToOauthError(refusal: TokenRefusal, server: Named): OauthError {
  const { name, appAdvice } = server;
  const { status, refused, details } = refusal;
  if (status === 429) {
    const message = `${name} takes no more requests from this service for now ${details}.`;
    return new OauthError('unavailable', message);
  }
  if (isAboutCode(refused)) {
    const message = `${name} no longer accepts its code ${details}. Start over.`;
    return new OauthError('expired', message);
  }
  if (aboutApp.has(refused.error)) {
    const message = `${name} does not know this service ${details}. ${appAdvice}`;
    return new OauthError('misconfigured', message);
  }
  if (refused.error !== '') {
    const message = `${name} does not accept the request of this service ${details}. ${appAdvice}`;
    return new OauthError('misconfigured', message);
  }

  return new OauthError('unavailable', `${name} is not available at the moment ${details}.`);
}

/** X and LinkedIn answer `invalid_request` for an expired code, and mention the code in the description. */
const isAboutCode = ({ error, description }: OauthErrorBody): boolean =>
  error === 'invalid_grant' ||
  (error === 'invalid_request' && /\b(?:authorization code|code verifier)\b/iu.test(description));

const codes: Readonly<Partial<Record<NetworkError['code'], OauthErrorCode>>> = {
  access_lost: 'no_account',
  permission_missing: 'no_account',
  internal: 'misconfigured',
};

const networkToOauthError = (error: NetworkError): OauthError =>
  new OauthError(codes[error.code] ?? 'unavailable', error.message, { cause: error });
