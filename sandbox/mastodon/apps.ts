import { randomBytes } from 'node:crypto';
import { dropOldest } from '../drop-oldest.ts';
import type { RegisteredApp } from '../oauth/registered-app.ts';
import type { Shelf } from '../shelf.ts';
import { Refusal } from '../refusal.ts';

/** The most apps kept; the oldest are dropped. */
const maxApps = 1000;

export type Apps = {
  /** Resolves when the app is on disk. @throws Refusal 422, like Mastodon. */
  register(fields: Readonly<Record<string, unknown>>): Promise<RegisteredApp>;
  find(clientId: string): RegisteredApp | undefined;
};

/** @param known The existing scopes. */
export function createApps({ saved, save }: Shelf<RegisteredApp>, known: readonly string[]): Apps {
  const apps = new Map(saved.map((app) => [app.clientId, app]));
  return {
    async register(fields) {
      const app = appOf(fields, known, apps.size + 1);
      apps.set(app.clientId, app);
      dropOldest(apps, maxApps);
      await save([...apps.values()]);
      return app;
    },
    find: (clientId) => apps.get(clientId),
  };
}

function appOf(
  fields: Readonly<Record<string, unknown>>,
  known: readonly string[],
  count: number,
): RegisteredApp {
  const { client_name: name, redirect_uris: uris, scopes = 'read', website = null } = fields;
  if (typeof name !== 'string' || name.trim() === '') {
    throw invalid("Application name can't be blank");
  }
  if (name.length > 60) {
    throw invalid('Application name is too long (maximum is 60 characters)');
  }
  const redirectUris = typeof uris === 'string' ? uris.split(/\s+/v).filter(Boolean) : uris;
  if (!isStrings(redirectUris) || redirectUris.length === 0) {
    throw invalid("Redirect URI can't be blank");
  }
  if (!redirectUris.every(isRedirectUri)) {
    throw invalid('Redirect URI must be an absolute URI.');
  }
  const asked = typeof scopes === 'string' ? scopes.split(/\s+/v).filter(Boolean) : [];
  if (asked.length === 0 || !asked.every((scope) => known.includes(scope))) {
    throw invalid("Scopes doesn't match configured on the server.");
  }
  if (website !== null && (typeof website !== 'string' || !/^https?:\/\//v.test(website))) {
    throw invalid('Website is not a valid URL');
  }
  return {
    id: String(count),
    clientId: randomBytes(32).toString('base64url'),
    secret: randomBytes(32).toString('base64url'),
    name,
    website,
    redirectUris,
    scopes: asked,
  };
}

const isStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

const isRedirectUri = (address: string): boolean =>
  URL.canParse(address) &&
  !address.includes('#') &&
  !/^(?:data|vbscript|javascript):/iv.test(address);

const invalid = (reason: string): Refusal => new Refusal(422, `Validation failed: ${reason}`);

/** The response to a registration. Source: https://docs.joinmastodon.org/methods/apps/ */
export const presentApp = ({
  id,
  name,
  website,
  scopes,
  redirectUris,
  clientId,
  secret,
}: RegisteredApp) => ({
  id,
  name,
  website,
  scopes,
  redirect_uris: redirectUris,
  redirect_uri: redirectUris.join('\n'),
  client_id: clientId,
  client_secret: secret,
  client_secret_expires_at: 0,
  vapid_key: '',
});
