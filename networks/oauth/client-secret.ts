import { ClientSecretPost, type ClientAuth } from 'oauth4webapi';
import type { OauthApp } from '../oauth.ts';
import type { AuthorizationServer } from './authorization-server.ts';

/**
 * How a request proves that it comes from the app.
 *
 * HTTP Basic is as RFC 6749 (section 2.3.1, appendix B) has it. The library's own encodes `-` and `_` too, which form
 * encoding leaves alone, so that a server that decodes nothing would not know the secret.
 */
export const authenticationOf = ({ app, secretIn }: AuthorizationServer): ClientAuth =>
  secretIn === 'form'
    ? ClientSecretPost(app.clientSecret)
    : (_as, _client, _body, headers) => headers.set('authorization', `Basic ${basicOf(app)}`);

/** The app's secret in each form in which a request carries it. */
export const appSecrets = ({ app }: AuthorizationServer): readonly string[] => [
  app.clientSecret,
  basicOf(app),
];

const basicOf = ({ clientId, clientSecret }: OauthApp): string =>
  btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`);

const formEncoded = (value: string): string =>
  new URLSearchParams({ value }).toString().slice('value='.length);
