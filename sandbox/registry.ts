import { bluesky } from './bluesky/network.ts';
import { linkedin } from './linkedin/network.ts';
import { mastodon } from './mastodon/network.ts';
import type { SandboxNetwork } from './network.ts';
import { x } from './x/network.ts';
import { youtube } from './youtube/network.ts';

/** Every network that the sandbox plays, in the order of the page: a new one is its folder and a line here. */
export const networks: readonly SandboxNetwork[] = [mastodon, bluesky, linkedin, x, youtube];

const byId = new Map(networks.map((network) => [network.id, network]));

/** @throws Error for a name that the registry does not have. The data file's schema lets no such post in. */
export function networkOf({ network: id }: { readonly network: string }): SandboxNetwork {
  const network = byId.get(id);
  if (network === undefined) {
    throw new Error(`The sandbox plays no "${id}".`);
  }
  return network;
}
