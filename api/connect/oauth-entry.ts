import { oauthContext } from '../../accounts/oauth-context.ts';
import type { ConnectLink } from '../../db/entities/connect-link.ts';
import type { OauthContext, OauthEntry } from '../../networks/oauth/contract.ts';
import { accountDeps, type ApiDeps } from '../deps.ts';
import { Problem } from './problem.ts';

/** Limit for all requests of one step, in milliseconds. */
const stepMs = 30_000;

/** @throws Problem `network_not_configured` when the settings have changed since the link was created. */
export function oauthEntryOf(
  { networks, sandboxUrl }: Pick<ApiDeps, 'networks' | 'sandboxUrl'>,
  { platform, atSandbox }: Pick<ConnectLink, 'platform' | 'atSandbox'>,
): OauthEntry {
  const entry = networks.oauth[platform];
  if (!entry || (atSandbox ? sandboxUrl === null : entry.missing.length > 0)) {
    throw new Problem(
      'network_not_configured',
      'This network is not set up for connecting accounts. Contact the sender of the link.',
    );
  }

  return entry;
}

/** Whether our page asks for consent, because the network may skip it. The sandbox always asks. */
export const needsConfirmation = (
  { asksOnce }: Pick<OauthEntry, 'asksOnce'>,
  { atSandbox }: Pick<ConnectLink, 'atSandbox'>,
): boolean => asksOnce === true && !atSandbox;

/** Builds the OAuth context for one step of a link. */
export const oauthContextOf = (
  deps: ApiDeps,
  { platform, atSandbox }: Pick<ConnectLink, 'platform' | 'atSandbox'>,
): OauthContext => ({
  ...oauthContext(accountDeps(deps), platform, atSandbox),
  signal: AbortSignal.timeout(stepMs),
});
