import { OauthError, type OauthAppCredentials, type OauthContext } from './contract.ts';
import type { ConfiguredApp } from './app-settings.ts';

/** This service's app at the sandbox, for all networks. */
const sandboxApp: OauthAppCredentials = { clientId: 'punctual', clientSecret: 'sandbox' };

/**
 * The app for accounts of the sandbox, or of the network itself, with advice for the operator when it is refused.
 *
 * @param name The network's name: `X`.
 * @throws OauthError `misconfigured` when its settings are missing.
 */
export function appOf(
  { sandboxUrl }: Pick<OauthContext, 'sandboxUrl'>,
  { app, missing, settings }: ConfiguredApp,
  name: string,
): { readonly app: OauthAppCredentials; readonly appAdvice: string } {
  if (sandboxUrl !== null) {
    return { app: sandboxApp, appAdvice: 'The sandbox knows only the app "punctual".' };
  }
  if (app === null) {
    const needs = `The operator has to set ${missing.join(' and ')}.`;
    throw new OauthError('misconfigured', `${name} is not set up here. ${needs}`);
  }

  return { app, appAdvice: `The operator has to check ${settings.join(' and ')}.` };
}
