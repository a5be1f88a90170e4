import { parseAllowList, parseNat64Prefixes } from '../egress/operator-lists.ts';
import { textSetting, type Env } from './read-values.ts';

/**
 * Non-public addresses, with ports, that requests may go to: `127.0.0.1/32:8080,…`. Each list serves one purpose: an
 * address that the operator opens for a network server must not be reachable through every workspace's webhooks and
 * links.
 */
export type EgressAllow = {
  readonly networks: string;
  readonly webhooks: string;
  readonly downloads: string;
  /**
   * NAT64 prefixes: `64:ff9b::/96,…`. They open nothing: an address behind one is checked as the IPv4 address it maps
   * to.
   */
  readonly nat64: string;
};

const settings = {
  networks: 'PUNCTUAL_EGRESS_ALLOW_NETWORKS',
  webhooks: 'PUNCTUAL_EGRESS_ALLOW_WEBHOOKS',
  downloads: 'PUNCTUAL_EGRESS_ALLOW_DOWNLOADS',
} as const;

/**
 * Reads the addresses that the operator opened. In production, where untrusted users choose URLs, a list takes effect
 * only with an explicit confirmation.
 */
export function egressAllow(env: Env, problems: string[]): EgressAllow {
  if (textSetting(env, 'PUNCTUAL_EGRESS_ALLOW', '') !== '') {
    problems.push(
      `PUNCTUAL_EGRESS_ALLOW was removed, because it opened its addresses for every purpose. Use ${settings.networks} for accounts on your own servers, ${settings.webhooks} for the webhook endpoints of all workspaces, ${settings.downloads} for their media_urls.`,
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
  const isProduction = textSetting(env, 'NODE_ENV', '') === 'production';
  const isMeant = textSetting(env, 'PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION', '') === 'yes';
  if (given !== '' && isProduction && !isMeant) {
    problems.push(
      `${name} opens addresses that are not public, and NODE_ENV is "production". Unset ${name}, or set PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION=yes to confirm it.`,
    );
  }

  return given;
}

/** Returns a setting's text. Adds a problem when `parse` rejects it. */
function readable(
  name: string,
  parse: (given: string) => unknown,
  env: Env,
  problems: string[],
): string {
  const given = textSetting(env, name, '');
  try {
    parse(given);
  } catch (error) {
    problems.push(`${name}: ${error instanceof Error ? error.message : 'wrong'}`);
  }

  return given;
}
