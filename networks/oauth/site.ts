import { address, textSetting, type Env } from '../../runtime/config/settings.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { OauthError, type OauthContext } from './contract.ts';

type Place = Pick<OauthContext, 'sandboxUrl'>;

export type Site = {
  readonly apiUrl: string;
  /** The settings that are missing for accounts of the network itself. */
  readonly missing: readonly string[];
  /** The base URL of the API for an account of the network, or of the sandbox. */
  readonly apiFor: (place: Place) => string;
  readonly serverFor: (
    place: Place,
  ) => Pick<AuthorizationServer, 'app' | 'appAdvice' | 'authorizeUrl' | 'tokenUrl'>;
};

type Settings = Readonly<Record<'authorizeUrl' | 'tokenUrl', string>> & {
  readonly apiUrl: readonly [setting: string, usual: string];
  /** The settings with the client id and the client secret. */
  readonly app: readonly [string, string];
};

/** Reads the settings of a site. The sandbox, and a server in place of the API, have the same paths below their URLs. */
export function readSite(
  env: Env,
  problems: string[],
  name: string,
  { app: settings, apiUrl: [setting, usualApiUrl], ...usual }: Settings,
): Site {
  const apiUrl = address(env, setting, usualApiUrl, problems);
  const [clientId = '', clientSecret = ''] = settings.map((one) => textSetting(env, one, ''));
  const missing = settings.filter((one) => textSetting(env, one, '') === '');
  const apiFor = ({ sandboxUrl }: Place) =>
    sandboxUrl === null ? apiUrl : `${sandboxUrl}/${name.toLowerCase()}`;
  const addressesFor = (place: Place) => {
    const base = apiFor(place);
    const at = (url: string) => (base === usualApiUrl ? url : base + new URL(url).pathname);
    return { authorizeUrl: at(usual.authorizeUrl), tokenUrl: at(usual.tokenUrl) };
  };
  return {
    apiUrl,
    missing,
    apiFor,
    serverFor: (place) => {
      if (place.sandboxUrl !== null) {
        return {
          app: { clientId: 'punctual', clientSecret: 'sandbox' },
          appAdvice: 'The sandbox knows only the app "punctual".',
          ...addressesFor(place),
        };
      }
      if (missing.length > 0) {
        const needs = `The operator has to set ${missing.join(' and ')}.`;
        throw new OauthError('misconfigured', `${name} is not set up here. ${needs}`);
      }

      const appAdvice = `The operator has to check ${settings.join(' and ')}.`;
      return { app: { clientId, clientSecret }, appAdvice, ...addressesFor(place) };
    },
  };
}
