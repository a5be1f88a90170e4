import { AuthorizationResponseError, validateAuthResponse } from 'oauth4webapi';
import { quote } from '../answer.ts';
import { OauthError } from './contract.ts';
import type { AuthorizationServer } from './authorization-server.ts';

/**
 * Checks the query with which the browser returned: its state, its issuer, and its success.
 *
 * Sources: RFC 6749 (section 4.1.2), RFC 9207.
 *
 * @returns the query in the library's form, for the token request.
 * @throws OauthError
 */
export function checkAnswer(
  server: AuthorizationServer,
  answer: URLSearchParams,
  state: string,
): URLSearchParams {
  const { name, issuer } = server;
  const parameters = new URLSearchParams(answer);
  if (issuer === undefined) {
    parameters.delete('iss');
  }

  const as = {
    issuer: issuer ?? server.tokenUrl,
    authorization_response_iss_parameter_supported: server.alwaysSaysIssuer ?? false,
  };
  const checked = validated(as, server, parameters, state);
  const [code, ...more] = checked.getAll('code');
  if (!code) {
    throw new OauthError('unavailable', `${name} returned an unexpected response.`);
  }
  if (more.length > 0) {
    throw foreign(server);
  }

  return checked;
}

function validated(
  as: Parameters<typeof validateAuthResponse>[0],
  server: AuthorizationServer,
  parameters: URLSearchParams,
  state: string,
): URLSearchParams {
  try {
    return validateAuthResponse(as, { client_id: server.app.clientId }, parameters, state);
  } catch (error) {
    if (error instanceof AuthorizationResponseError) {
      throw refusalIn(server, parameters);
    }

    throw foreign(server); // Drops the library's error, which contains the code.
  }
}

const foreign = ({ name }: AuthorizationServer): OauthError =>
  new OauthError(
    'expired',
    `${name} returned a response that does not belong to this link. Start over.`,
  );

/** @param name The server's name, at the beginning of a sentence. */
export const declined = (name: string): string =>
  `${name} says that you declined. Nothing was connected, and you can try again.`;

/** Errors that mean a failure of the server (RFC 6749, section 4.1.2.1). */
const failures = new Set(['server_error', 'temporarily_unavailable']);

function refusalIn(server: AuthorizationServer, parameters: URLSearchParams): OauthError {
  const { name, app, denials = [], appAdvice } = server;
  const error = parameters.get('error') ?? '';
  const serverMessage = quote(parameters.get('error_description') || error, [app.clientSecret]);
  const details = serverMessage && `: ${serverMessage}`;
  if (error === 'access_denied' || denials.includes(error)) {
    return new OauthError('denied', declined(name));
  }
  if (failures.has(error)) {
    return new OauthError('unavailable', `${name} is not available at the moment${details}.`);
  }

  const message = `${name} does not accept the request of this service${details}. ${appAdvice}`;
  return new OauthError('misconfigured', message);
}
