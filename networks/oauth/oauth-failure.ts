import { NetworkError } from '../network.ts';
import { OauthError, type OauthErrorCode } from '../oauth.ts';
import type { AuthorizationServer, Refused } from './authorization-server.ts';
import { TokenRefusal } from './token-refusal.ts';

/** Errors of a token endpoint that are about the app (RFC 6749, section 5.2; `deleted_client` is Google's). */
export const aboutApp: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'deleted_client',
  'disabled_client',
]);

type Named = Pick<AuthorizationServer, 'name' | 'appAdvice'>;

/** Casts what kept an account from being connected to what its person is told. Other errors stay as they are. */
export function asOauthError(error: unknown, server: Named): unknown {
  if (error instanceof TokenRefusal) {
    return castRefusal(error, server);
  }

  return error instanceof NetworkError ? castNetworkError(error) : error;
}

function castRefusal(refusal: TokenRefusal, server: Named): OauthError {
  const { name, appAdvice } = server;
  const { status, refused, said } = refusal;
  if (status === 429) {
    const message = `${name} takes no more requests from this service for now ${said}.`;
    return new OauthError('unavailable', message);
  }
  if (isAboutCode(refused)) {
    const message = `${name} does not take its code any more ${said}. Start over.`;
    return new OauthError('expired', message);
  }
  if (aboutApp.has(refused.error)) {
    const message = `${name} does not know this service ${said}. ${appAdvice}`;
    return new OauthError('misconfigured', message);
  }
  if (refused.error !== '') {
    const message = `${name} does not take the request of this service ${said}. ${appAdvice}`;
    return new OauthError('misconfigured', message);
  }

  return new OauthError('unavailable', `${name} could not do it at the moment ${said}.`);
}

/** X and LinkedIn answer `invalid_request` for a code that is over, and name the code in their words. */
const isAboutCode = ({ error, description }: Refused): boolean =>
  error === 'invalid_grant' ||
  (error === 'invalid_request' && /\b(?:authorization code|code verifier)\b/iu.test(description));

const codes: Readonly<Partial<Record<NetworkError['code'], OauthErrorCode>>> = {
  access_lost: 'no_account',
  permission_missing: 'no_account',
  internal: 'misconfigured',
};

const castNetworkError = (error: NetworkError): OauthError =>
  new OauthError(codes[error.code] ?? 'unavailable', error.message, { cause: error });
