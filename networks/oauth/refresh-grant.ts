import { NetworkError } from '../network.ts';
import { OauthError, type Grant, type Refresh } from './contract.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { aboutApp } from './oauth-failure.ts';
import { redeemRefreshToken } from './token-endpoint.ts';
import { TokenRefusal } from './token-refusal.ts';
import { grantOf } from './tokens.ts';

/**
 * Gets new tokens with a grant's refresh token. A grant without one is returned unchanged until its access expires.
 *
 * @throws NetworkError as `Oauth.refresh` says.
 */
export async function refreshGrant(
  serverFor: () => AuthorizationServer,
  { grant, ...context }: Refresh,
): Promise<Grant> {
  const nowMs = context.now().getTime();
  if (grant.refreshToken === null) {
    return assertNotExpired(grant, nowMs);
  }

  const server = configured(serverFor);
  const secrets = [grant.refreshToken, grant.accessToken];
  try {
    const tokens = await redeemRefreshToken({ server, context, secrets }, grant.refreshToken);
    return { ...grant, ...grantOf(tokens, context.now().getTime(), grant) };
  } catch (error) {
    throw error instanceof TokenRefusal ? refusalToNetworkError(error, server) : error;
  }
}

function assertNotExpired(grant: Grant, nowMs: number): Grant {
  if (grant.accessEndsAtMs !== null && grant.accessEndsAtMs <= nowMs) {
    const message = 'The access has expired, and the network gave no refresh token to renew it.';
    throw new NetworkError('access_lost', message, { accepted: 'no' });
  }

  return grant;
}

function configured(serverFor: () => AuthorizationServer): AuthorizationServer {
  try {
    return serverFor();
  } catch (error) {
    throw error instanceof OauthError
      ? new NetworkError('internal', error.message, { accepted: 'no' })
      : error;
  }
}

/** Only errors that certainly mean it end a grant; others may be temporary. */
function refusalToNetworkError(refusal: TokenRefusal, server: AuthorizationServer): NetworkError {
  const { status, refused, details, retryAtMs } = refusal;
  const { name, appAdvice } = server;
  const answered = { accepted: 'no', server: 'answered' } as const;
  if (status === 429) {
    const message = `${name} takes no more requests for now ${details}.`;
    return new NetworkError('rate_limited', message, { ...answered, retryAtMs });
  }
  if (refused.error === 'invalid_grant' || server.endsGrant?.(refused)) {
    const message = `${name} does not accept the refresh token ${details}.`;
    return new NetworkError('access_lost', message, answered);
  }
  if (aboutApp.has(refused.error)) {
    const message = `${name} does not know this service ${details}. ${appAdvice}`;
    return new NetworkError('internal', message, answered);
  }

  const message = `${name} could not renew the access at the moment ${details}.`;
  return new NetworkError('network_unavailable', message, { ...answered, retryAtMs });
}
