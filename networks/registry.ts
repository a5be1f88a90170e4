import type { Rules } from './content-rules.ts';
import { rules as bluesky } from './bluesky/rules.ts';
import { rules as linkedin } from './linkedin/rules.ts';
import { rules as mastodon } from './mastodon/rules.ts';
import type { Network } from './network.ts';
import { rules as x } from './x/rules.ts';
import { rules as youtube } from './youtube/rules.ts';

type Entry = {
  readonly rules: Rules;
  /**
   * Loads the adapter, where there is one. Bluesky's lexicon alone takes half a second of processor time, and a process
   * that publishes nothing needs the rules only.
   */
  readonly adapter?: () => Promise<Network>;
};

/** Every network, by the name that a channel's `platform` has: a new one is its folder and a line here. */
const registry = {
  x: { rules: x },
  linkedin: { rules: linkedin },
  bluesky: {
    rules: bluesky,
    adapter: async () => (await import('./bluesky/adapter.ts')).bluesky,
  },
  mastodon: {
    rules: mastodon,
    adapter: async () => (await import('./mastodon/adapter.ts')).mastodon,
  },
  youtube: { rules: youtube },
} satisfies Record<string, Entry>;

export type Platform = keyof typeof registry;

export const platforms = Object.keys(registry) as readonly Platform[];

const entries: readonly (readonly [string, Entry])[] = Object.entries(registry);

/** What every network accepts, also of those that have no adapter yet. */
export const rulesOf = Object.fromEntries(
  entries.map(([platform, { rules }]) => [platform, rules]),
) as Readonly<Record<Platform, Rules>>;

/** The adapters of the networks that posts are published to, by the name that a channel's `platform` has. */
export async function loadNetworks(): Promise<Readonly<Record<string, Network>>> {
  const loaded = entries.map(async ([platform, { adapter }]) =>
    adapter ? [[platform, await adapter()] as const] : [],
  );
  return Object.fromEntries((await Promise.all(loaded)).flat());
}
