import { ClientSecretPost, type ClientAuth } from 'oauth4webapi';
import type { OauthAppCredentials } from './contract.ts';
import type { AuthorizationServer } from './authorization-server.ts';

/**
 * Authenticates a request with the app's secret.
 *
 * HTTP Basic follows RFC 6749 (section 2.3.1, appendix B). The library's own version also encodes `-` and `_`, which
 * form encoding leaves alone; a server that does not decode would then refuse the secret.
 */
export const authenticationOf = ({ app, secretIn }: AuthorizationServer): ClientAuth =>
  secretIn === 'form'
    ? ClientSecretPost(app.clientSecret)
    : (_as, _client, _body, headers) => headers.set('authorization', `Basic ${basicOf(app)}`);

/** The app's secret in each form that a request may contain. */
export const appSecrets = ({ app }: AuthorizationServer): readonly string[] => [
  app.clientSecret,
  basicOf(app),
];

const basicOf = ({ clientId, clientSecret }: OauthAppCredentials): string =>
  btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`);

const formEncoded = (value: string): string =>
  new URLSearchParams({ value }).toString().slice('value='.length);
