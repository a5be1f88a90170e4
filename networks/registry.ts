import { ConfigError, type Env } from '../runtime/config/read-values.ts';
import { bluesky } from './bluesky/entry.ts';
import type { Rules } from './content-rules.ts';
import type { CheckAccount, Entry, ProfileUrl, ReadLimits } from './entry.ts';
import { linkedin } from './linkedin/entry.ts';
import { mastodon } from './mastodon/entry.ts';
import type { Connector, Network } from './network.ts';
import type { OauthEntry } from './oauth.ts';
import { x } from './x/entry.ts';
import { youtube } from './youtube/entry.ts';

/** Every network, by the name that a channel's `platform` has: a new one is its folder and a line here. */
const registry = { x, linkedin, bluesky, mastodon, youtube } satisfies Record<string, Entry>;

export type Platform = keyof typeof registry;

export const platforms = Object.keys(registry) as readonly Platform[];

const entries: readonly (readonly [Platform, Entry])[] = platforms.map((platform) => [
  platform,
  registry[platform],
]);

/** The networks as the operator set them. */
export type Networks = {
  readonly rules: Readonly<Record<Platform, Rules>>;
  /** How accounts are connected by tokens, where a network has an adapter. */
  readonly connectors: Readonly<Partial<Record<Platform, Connector>>>;
  /** How accounts are connected in a browser, where they can be. */
  readonly oauth: Readonly<Partial<Record<string, OauthEntry>>>;
  /** How an account is checked, where that is known. */
  readonly checks: Readonly<Partial<Record<string, CheckAccount>>>;
  /** How servers are asked for their limits, of networks whose servers differ. */
  readonly limits: Readonly<Record<string, ReadLimits>>;
  /** Where people look at an account, of networks where that is known. */
  readonly profileUrls: Readonly<Partial<Record<string, ProfileUrl>>>;
  /** Loads the adapters, by the name that a channel's `platform` has. */
  readonly load: () => Promise<Readonly<Record<string, Network>>>;
};

/**
 * Reads the settings of every network; loads no adapter.
 *
 * @throws ConfigError with one line per setting that is wrong.
 */
export function openNetworks(env: Env): Networks {
  const problems: string[] = [];
  const opened = entries.map(([platform, open]) => [platform, open(env, problems)] as const);
  if (problems.length > 0) {
    throw new ConfigError(problems);
  }

  /** Of those networks that have it. */
  const pick = <T>(of: (entry: ReturnType<Entry>) => T | undefined): Record<string, T> =>
    Object.fromEntries(
      opened.flatMap(([platform, entry]) => {
        const value = of(entry);
        return value === undefined ? [] : [[platform, value]];
      }),
    );
  return {
    rules: pick(({ rules }) => rules) as Networks['rules'],
    connectors: pick(({ connector }) => connector),
    oauth: pick(({ oauth }) => oauth),
    checks: pick(({ check }) => check),
    limits: pick(({ limits }) => limits) as Networks['limits'],
    profileUrls: pick(({ profileUrl }) => profileUrl),
    load: async () => {
      const loaded = opened.map(async ([platform, { adapter }]) =>
        adapter ? [[platform, await adapter()] as const] : [],
      );
      return Object.fromEntries((await Promise.all(loaded)).flat());
    },
  };
}
