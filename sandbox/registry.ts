import { bluesky } from './bluesky/network.ts';
import { linkedin } from './linkedin/network.ts';
import { mastodon } from './mastodon/network.ts';
import type { SandboxNetwork } from './network.ts';
import { x } from './x/network.ts';
import { youtube } from './youtube/network.ts';

/** The networks of the sandbox, in the order of the page. A new network is a folder and a line here. */
export const networks: readonly SandboxNetwork[] = [mastodon, bluesky, linkedin, x, youtube];

const byId = new Map(networks.map((network) => [network.id, network]));

/** @throws Error for an unknown network. The data file's schema excludes such posts. */
export function networkOf({ network: id }: { readonly network: string }): SandboxNetwork {
  const network = byId.get(id);
  if (network === undefined) {
    throw new Error(`The sandbox has no network "${id}".`);
  }
  return network;
}
