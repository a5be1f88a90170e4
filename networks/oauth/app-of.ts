import { OauthError, type OauthApp, type OauthContext } from '../oauth.ts';
import type { ConfiguredApp } from './app-settings.ts';

/** As the sandbox knows this service, whichever network it plays. */
const sandboxApp: OauthApp = { clientId: 'punctual', clientSecret: 'sandbox' };

/**
 * The app for accounts of the sandbox, or of the network itself, with what its operator checks when it is refused.
 *
 * @param name Of the network: `X`.
 * @throws OauthError `misconfigured` when settings of it are missing.
 */
export function appOf(
  { sandboxUrl }: Pick<OauthContext, 'sandboxUrl'>,
  { app, missing, settings }: ConfiguredApp,
  name: string,
): { readonly app: OauthApp; readonly appAdvice: string } {
  if (sandboxUrl !== null) {
    return { app: sandboxApp, appAdvice: 'The sandbox knows the app "punctual" only.' };
  }
  if (app === null) {
    const needs = `Whoever runs this service has to set ${missing.join(' and ')}.`;
    throw new OauthError('misconfigured', `${name} is not set up here. ${needs}`);
  }

  return { app, appAdvice: `Whoever runs this service has to check ${settings.join(' and ')}.` };
}
