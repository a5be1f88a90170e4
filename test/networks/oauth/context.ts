import type { ExecutionContext } from 'ava';
import type {
  OauthAppCredentials,
  OauthContext,
  RegisteredApps,
} from '../../../networks/oauth/contract.ts';
import { createSealer } from '../../../runtime/secrets.ts';
import { egressTo } from '../connection.ts';

export const redirectUri = 'http://localhost:9/connect/callback/key';
export const state = 'a-state-of-43-characters-as-the-core-makes-i';

/** Stores registered apps in memory, as the core does in the database. */
export function registeredApps(): RegisteredApps & {
  readonly kept: Map<string, OauthAppCredentials>;
} {
  const kept = new Map<string, OauthAppCredentials>();
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

/** The core's context for a network's OAuth, with real egress to these servers. */
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

/** The additional inputs of a connection's first half. */
export const beginning = (
  context: OauthContext,
  values: Readonly<Record<string, string>> = {},
) => ({ ...context, values, state, redirectUriFor: () => redirectUri });
