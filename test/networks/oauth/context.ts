import type { ExecutionContext } from 'ava';
import type { OauthApp, OauthContext, RegisteredApps } from '../../../networks/oauth.ts';
import { createSealer } from '../../../runtime/secrets.ts';
import { egressTo } from '../connection.ts';

export const redirectUri = 'http://localhost:9/connect/callback/key';
export const state = 'a-state-of-43-characters-as-the-core-makes-i';

/** The apps that a test's networks registered, as the core keeps them. */
export function registeredApps(): RegisteredApps & { readonly kept: Map<string, OauthApp> } {
  const kept = new Map<string, OauthApp>();
  const keyOf = (baseUrl: string, uri: string) => `${baseUrl} ${uri}`;
  return {
    kept,
    find: async (baseUrl, uri) => kept.get(keyOf(baseUrl, uri)) ?? null,
    keep: async (baseUrl, uri, app) => {
      const key = keyOf(baseUrl, uri);
      kept.set(key, kept.get(key) ?? app);
      return kept.get(key) ?? app;
    },
    forget: async (baseUrl, uri, { clientId }) => {
      const key = keyOf(baseUrl, uri);
      if (kept.get(key)?.clientId === clientId) {
        kept.delete(key);
      }
    },
  };
}

/** What the core hands to a network's OAuth, with the real way out opened for these servers. */
export const contextFor = (
  t: ExecutionContext,
  urls: readonly string[],
  differently: Partial<OauthContext> = {},
): OauthContext => ({
  http: egressTo(t, ...urls),
  publicUrl: 'https://punctual.example',
  sandboxUrl: null,
  apps: registeredApps(),
  derive: createSealer('a1'.repeat(32)).derive,
  now: () => new Date(),
  ...differently,
});

/** What the core adds to it for the first half of a connection. */
export const beginning = (
  context: OauthContext,
  values: Readonly<Record<string, string>> = {},
) => ({ ...context, values, state, redirectUriFor: () => redirectUri });
