import { oauthContext } from '../../accounts/oauth-context.ts';
import type { ConnectLink } from '../../db/entities/connect-link.ts';
import type { OauthContext, OauthEntry } from '../../networks/oauth.ts';
import { accountDeps, type ApiDeps } from '../deps.ts';
import { Problem } from './problem.ts';

/** For all requests of one step together, in milliseconds. */
const stepMs = 30_000;

/** @throws Problem `network_not_configured` where the settings have changed since the link was made. */
export function oauthEntryOf(
  { networks, sandboxUrl }: Pick<ApiDeps, 'networks' | 'sandboxUrl'>,
  { platform, atSandbox }: Pick<ConnectLink, 'platform' | 'atSandbox'>,
): OauthEntry {
  const entry = networks.oauth[platform];
  if (!entry || (atSandbox ? sandboxUrl === null : entry.missing.length > 0)) {
    throw new Problem(
      'network_not_configured',
      'This network is not set up here for accounts to be connected. Tell those who sent you the link.',
    );
  }

  return entry;
}

/** Whether our page has to ask the person, because the network may not. The sandbox always asks. */
export const mustConfirm = (
  { asksOnce }: Pick<OauthEntry, 'asksOnce'>,
  { atSandbox }: Pick<ConnectLink, 'atSandbox'>,
): boolean => asksOnce === true && !atSandbox;

/** What a step works with at the network of a link. */
export const contextOf = (
  deps: ApiDeps,
  { platform, atSandbox }: Pick<ConnectLink, 'platform' | 'atSandbox'>,
): OauthContext => ({
  ...oauthContext(accountDeps(deps), platform, atSandbox),
  signal: AbortSignal.timeout(stepMs),
});
