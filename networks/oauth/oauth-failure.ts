import { NetworkError } from '../network.ts';
import { OauthError, type OauthErrorCode } from './contract.ts';
import type { AuthorizationServer, OauthErrorBody } from './authorization-server.ts';
import { TokenRefusal } from './token-refusal.ts';

/** Token endpoint errors that concern the app (RFC 6749, section 5.2; `deleted_client` is Google's). */
export const aboutApp: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'deleted_client',
  'disabled_client',
]);

type Named = Pick<AuthorizationServer, 'name' | 'appAdvice'>;

/** Converts a failed connection to an error for the person. Other errors pass unchanged. */
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
