import { textSetting, type Env } from '../../runtime/config/read-values.ts';
import type { OauthAppCredentials } from './contract.ts';

/** An app from the operator's settings. */
export type ConfiguredApp = {
  /** Null while one of its settings is missing. */
  readonly app: OauthAppCredentials | null;
  /** The names of the missing settings. */
  readonly missing: readonly string[];
  /** The names of both settings. */
  readonly settings: readonly [string, string];
};

/** @param settings The names of the settings with the client id and the client secret. */
export function readApp(env: Env, settings: readonly [string, string]): ConfiguredApp {
  const [clientId, clientSecret] = [
    textSetting(env, settings[0], ''),
    textSetting(env, settings[1], ''),
  ];
  const missing = settings.filter((name) => textSetting(env, name, '') === '');
  return { app: missing.length > 0 ? null : { clientId, clientSecret }, missing, settings };
}
