import type { OauthContext } from '../networks/oauth/contract.ts';
import type { AccountDeps } from './deps.ts';
import { registeredApps } from './oauth-apps.ts';

/** Builds the context of a network's OAuth adapter. @param isAtSandbox For an account of the sandbox. */
export const oauthContext = (
  deps: Omit<AccountDeps, 'oauth' | 'log'>,
  platform: string,
  isAtSandbox: boolean,
): OauthContext => ({
  http: deps.egress,
  publicUrl: deps.publicUrl,
  sandboxUrl: isAtSandbox ? deps.sandboxUrl : null,
  apps: registeredApps(deps, platform),
  derive: deps.sealer.derive,
  now: deps.now,
});

/** Whether the channel's account is at the sandbox. */
export const isAtSandbox = (
  { sandboxUrl }: Pick<AccountDeps, 'sandboxUrl'>,
  baseUrl: string,
): boolean =>
  sandboxUrl !== null && (baseUrl === sandboxUrl || baseUrl.startsWith(`${sandboxUrl}/`));
