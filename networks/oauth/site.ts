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

type Setting = readonly [name: string, usual: string];

/** Reads the settings of a site. The sandbox has the same paths below the network's name. */
export function readSite(
  env: Env,
  problems: string[],
  name: string,
  {
    app: settings,
    ...urls
  }: Readonly<Record<'apiUrl' | 'authorizeUrl' | 'tokenUrl' | 'app', Setting>>,
): Site {
  const read = ([setting, usual]: Setting) => address(env, setting, usual, problems);
  const [apiUrl, authorizeUrl] = [read(urls.apiUrl), read(urls.authorizeUrl)];
  const tokenUrl = read(urls.tokenUrl);
  const [clientId = '', clientSecret = ''] = settings.map((one) => textSetting(env, one, ''));
  const missing = settings.filter((one) => textSetting(env, one, '') === '');
  const apiFor = ({ sandboxUrl }: Place) =>
    sandboxUrl === null ? apiUrl : `${sandboxUrl}/${name.toLowerCase()}`;
  return {
    apiUrl,
    missing,
    apiFor,
    serverFor: (place) => {
      if (place.sandboxUrl !== null) {
        return {
          app: { clientId: 'punctual', clientSecret: 'sandbox' },
          appAdvice: 'The sandbox knows only the app "punctual".',
          authorizeUrl: apiFor(place) + new URL(urls.authorizeUrl[1]).pathname,
          tokenUrl: apiFor(place) + new URL(urls.tokenUrl[1]).pathname,
        };
      }
      if (missing.length > 0) {
        const needs = `The operator has to set ${missing.join(' and ')}.`;
        throw new OauthError('misconfigured', `${name} is not set up here. ${needs}`);
      }

      const appAdvice = `The operator has to check ${settings.join(' and ')}.`;
      return { app: { clientId, clientSecret }, appAdvice, authorizeUrl, tokenUrl };
    },
  };
}
