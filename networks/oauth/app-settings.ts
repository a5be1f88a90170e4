import { text, type Env } from '../../runtime/config/read-values.ts';
import type { OauthApp } from '../oauth.ts';

/** An app by its settings. */
export type ConfiguredApp = {
  /** Null as long as one of its settings is missing. */
  readonly app: OauthApp | null;
  /** The names of those that are missing. */
  readonly missing: readonly string[];
  /** The names of both. */
  readonly settings: readonly [string, string];
};

/** @param settings The names of those that hold the client id and the client secret. */
export function readApp(env: Env, settings: readonly [string, string]): ConfiguredApp {
  const [clientId, clientSecret] = [text(env, settings[0], ''), text(env, settings[1], '')];
  const missing = settings.filter((name) => text(env, name, '') === '');
  return { app: missing.length > 0 ? null : { clientId, clientSecret }, missing, settings };
}
