import { parseAllowList, parseNat64Prefixes } from '../egress/operator-lists.ts';
import { text, type Env } from './read-values.ts';

/**
 * Addresses, with ports, that are let through although they are not public: `127.0.0.1/32:8080,…`. Each list is for one
 * purpose, since what the operator opens for a network of their own, whose address the operator chose, must not be open
 * to every workspace's webhooks and links.
 */
export type EgressAllow = {
  readonly networks: string;
  readonly webhooks: string;
  readonly downloads: string;
  /** Prefixes of NAT64: `64:ff9b::/96,…`. No opening: an address behind them is checked as the IPv4 address that it is. */
  readonly nat64: string;
};

const settings = {
  networks: 'PUNCTUAL_EGRESS_ALLOW_NETWORKS',
  webhooks: 'PUNCTUAL_EGRESS_ALLOW_WEBHOOKS',
  downloads: 'PUNCTUAL_EGRESS_ALLOW_DOWNLOADS',
} as const;

/**
 * The holes that the operator made in the guard of egress. What is handy on a developer's machine is dangerous
 * where strangers choose the addresses, so in production a list counts only together with a word that it is meant.
 */
export function egressAllow(env: Env, problems: string[]): EgressAllow {
  if (text(env, 'PUNCTUAL_EGRESS_ALLOW', '') !== '') {
    problems.push(
      `PUNCTUAL_EGRESS_ALLOW opened its addresses for everything, and is no more: write ${settings.networks} for accounts on servers of your own, ${settings.webhooks} for webhook endpoints of all workspaces, ${settings.downloads} for their media_urls.`,
    );
  }

  return {
    networks: listOf(settings.networks, env, problems),
    webhooks: listOf(settings.webhooks, env, problems),
    downloads: listOf(settings.downloads, env, problems),
    nat64: readable('PUNCTUAL_NAT64_PREFIXES', parseNat64Prefixes, env, problems),
  };
}

function listOf(name: string, env: Env, problems: string[]): string {
  const given = readable(name, parseAllowList, env, problems);
  const isProduction = text(env, 'NODE_ENV', '') === 'production';
  const isMeant = text(env, 'PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION', '') === 'yes';
  if (given !== '' && isProduction && !isMeant) {
    problems.push(
      `${name} opens addresses that are not public, and NODE_ENV says that this is production: take the list away, or set PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION=yes if it is meant.`,
    );
  }

  return given;
}

/** A setting's text, which `parse` can read unless it is among the problems. */
function readable(
  name: string,
  parse: (given: string) => unknown,
  env: Env,
  problems: string[],
): string {
  const given = text(env, name, '');
  try {
    parse(given);
  } catch (error) {
    problems.push(`${name}: ${error instanceof Error ? error.message : 'wrong'}`);
  }

  return given;
}
