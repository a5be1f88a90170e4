import { ConfigError, type Env } from '../runtime/config/settings.ts';
import { bluesky } from './bluesky/entry.ts';
import type { Rules } from './content-rules.ts';
import { linkedin } from './linkedin/entry.ts';
import { mastodon } from './mastodon/entry.ts';
import type {
  CheckAccount,
  NetworkEntry,
  PostPages,
  ProfileUrl,
  ReadLimits,
  Connector,
} from './network-entry.ts';
import type { Network } from './network.ts';
import type { OauthEntry } from './oauth/contract.ts';
import { x } from './x/entry.ts';
import { youtube } from './youtube/entry.ts';

/** Every network, by the `platform` of its channels. A new network is a folder and a line here. */
const registry = { x, linkedin, bluesky, mastodon, youtube } satisfies Record<string, NetworkEntry>;

export type Platform = keyof typeof registry;

export const platforms = Object.keys(registry) as readonly Platform[];

const entries: readonly (readonly [Platform, NetworkEntry])[] = platforms.map((platform) => [
  platform,
  registry[platform],
]);

type Entry = ReturnType<NetworkEntry>;

export type Networks = {
  readonly rules: Readonly<Record<Platform, Rules>>;
  readonly connectors: Readonly<Partial<Record<Platform, Connector>>>;
  readonly oauth: Readonly<Partial<Record<string, OauthEntry>>>;
  readonly checks: Readonly<Partial<Record<string, CheckAccount>>>;
  readonly limits: Readonly<Record<string, ReadLimits>>;
  readonly profileUrls: Readonly<Partial<Record<string, ProfileUrl>>>;
  /** Read the ids of posts from addresses; any address fits a network without it. */
  readonly postPages: Readonly<Partial<Record<string, PostPages>>>;
  readonly load: () => Promise<Readonly<Record<string, Network>>>;
};

/** Reads the settings of every network, without loading adapters. */
export function openNetworks(env: Env): Networks {
  const problems: string[] = [];
  const opened = entries.map(([platform, open]) => [platform, open(env, problems)] as const);
  if (problems.length > 0) {
    throw new ConfigError(problems);
  }

  const pick = <Name extends keyof Entry>(name: Name) =>
    Object.fromEntries(
      opened.flatMap(([platform, { [name]: value }]) => (value ? [[platform, value]] : [])),
    ) as Record<string, NonNullable<Entry[Name]>>;
  return {
    rules: pick('rules') as Networks['rules'],
    connectors: pick('connector'),
    oauth: pick('oauth'),
    checks: pick('check'),
    limits: pick('limits'),
    profileUrls: pick('profileUrl'),
    postPages: pick('postPages'),
    load: async () => {
      const loaded = opened.map(async ([platform, { adapter }]) =>
        adapter ? [[platform, await adapter()] as const] : [],
      );
      return Object.fromEntries((await Promise.all(loaded)).flat());
    },
  };
}
