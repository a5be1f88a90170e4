import { bluesky } from './bluesky/index.ts';
import { mastodon } from './mastodon/index.ts';
import type { Network } from './network.ts';

const all = { bluesky, mastodon } satisfies Record<string, Network>;

export type NetworkId = keyof typeof all;

/** Every network that we publish to, by the name that a channel's `platform` has. */
export const networks: Readonly<Record<NetworkId, Network>> = all;

export const isNetworkId = (name: string): name is NetworkId => Object.hasOwn(networks, name);
