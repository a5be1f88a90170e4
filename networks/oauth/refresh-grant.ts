import { NetworkError } from '../network.ts';
import { OauthError, type Grant, type Refresh } from '../oauth.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { aboutApp } from './oauth-failure.ts';
import { redeemRefreshToken } from './token-endpoint.ts';
import { TokenRefusal } from './token-refusal.ts';
import { grantOf } from './tokens.ts';

/**
 * Buys new tokens with a grant's refresh token. A grant that has none stays as it is until its access is over.
 *
 * @throws NetworkError as `Oauth.refresh` says.
 */
export async function refreshGrant(
  serverFor: () => AuthorizationServer,
  { grant, ...context }: Refresh,
): Promise<Grant> {
  const nowMs = context.now().getTime();
  if (grant.refreshToken === null) {
    return unlessOver(grant, nowMs);
  }

  const server = configured(serverFor);
  const secrets = [grant.refreshToken, grant.accessToken];
  try {
    const tokens = await redeemRefreshToken({ server, context, secrets }, grant.refreshToken);
    return { ...grant, ...grantOf(tokens, context.now().getTime(), grant) };
  } catch (error) {
    throw error instanceof TokenRefusal ? cast(error, server) : error;
  }
}

function unlessOver(grant: Grant, nowMs: number): Grant {
  if (grant.accessEndsAtMs !== null && grant.accessEndsAtMs <= nowMs) {
    const message =
      'The access that the network gave has ended, and it gave none to renew it with.';
    throw new NetworkError('access_lost', message, { taken: 'no' });
  }

  return grant;
}

function configured(serverFor: () => AuthorizationServer): AuthorizationServer {
  try {
    return serverFor();
  } catch (error) {
    throw error instanceof OauthError
      ? new NetworkError('internal', error.message, { taken: 'no' })
      : error;
  }
}

/** Only what is known to say so ends a grant: anything else may pass. */
function cast(refusal: TokenRefusal, server: AuthorizationServer): NetworkError {
  const { status, refused, said, retryAtMs } = refusal;
  const { name, appAdvice } = server;
  const answered = { taken: 'no', server: 'answered' } as const;
  if (status === 429) {
    const message = `${name} takes no more requests for now ${said}.`;
    return new NetworkError('rate_limited', message, { ...answered, retryAtMs });
  }
  if (refused.error === 'invalid_grant' || server.endsGrant?.(refused)) {
    const message = `${name} does not accept the refresh token ${said}.`;
    return new NetworkError('access_lost', message, answered);
  }
  if (aboutApp.has(refused.error)) {
    const message = `${name} does not know this service ${said}. ${appAdvice}`;
    return new NetworkError('internal', message, answered);
  }

  const message = `${name} could not renew the access at the moment ${said}.`;
  return new NetworkError('network_unavailable', message, { ...answered, retryAtMs });
}
