import type { OauthEntry } from '../../networks/oauth.ts';

/** What people call a network: `LinkedIn`, where its accounts' platform is `linkedin`. */
export const networkName = (
  platform: string,
  entry: Pick<OauthEntry, 'name'> | undefined,
): string => entry?.name ?? `${platform.charAt(0).toUpperCase()}${platform.slice(1)}`;
