import type { OauthEntry } from '../../networks/oauth/contract.ts';

/** The network's display name: `LinkedIn` for the platform `linkedin`. */
export const networkName = (
  platform: string,
  entry: Pick<OauthEntry, 'name'> | undefined,
): string => entry?.name ?? `${platform.charAt(0).toUpperCase()}${platform.slice(1)}`;
