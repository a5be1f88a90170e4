import { parseAllowList, parseNat64Prefixes } from '../egress/addresses.ts';
import { textSetting, type Env } from './settings.ts';

/**
 * Non-public addresses, with ports, that requests may go to: `127.0.0.1/32:8080,…`. Each list serves one purpose: an
 * address that the operator opens for a network server must not be reachable through every workspace's webhooks and
 * links.
 */
export type EgressAllow = Readonly<Record<keyof typeof egressSettings, string>> & {
  /** NAT64 prefixes, which open nothing: an address behind one is checked as the IPv4 address it maps to. */
  readonly nat64: string;
};

/** The setting of each list. */
export const egressSettings = {
  networks: 'PUNCTUAL_EGRESS_ALLOW_NETWORKS',
  webhooks: 'PUNCTUAL_EGRESS_ALLOW_WEBHOOKS',
  downloads: 'PUNCTUAL_EGRESS_ALLOW_DOWNLOADS',
} as const;

/** In production, where untrusted users choose URLs, a list takes effect only with an explicit confirmation. */
export function egressAllow(env: Env, problems: string[]): EgressAllow {
  return {
    networks: listOf(egressSettings.networks, env, problems),
    webhooks: listOf(egressSettings.webhooks, env, problems),
    downloads: listOf(egressSettings.downloads, env, problems),
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

const returnSetting = 'PUNCTUAL_CONNECT_RETURN_URLS';

/** Empty by default: an open redirect would lend this service's name to phishing links. */
export function returnUrls(env: Env, problems: string[]): readonly URL[] {
  const given = textSetting(env, returnSetting, '').split(',');
  return given
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .flatMap((one) => {
      const url = URL.parse(one);
      if (url && mayReturnTo(url) && url.search === '') {
        return [url];
      }

      problems.push(
        `${returnSetting} must list https addresses without a query, such as https://app.example.com/accounts (http only of this machine), not "${one}".`,
      );
      return [];
    });
}

/** Whether browsers may be redirected to this kind of URL at all. */
export const mayReturnTo = ({ protocol, hostname, username, password, hash }: URL): boolean =>
  (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) &&
  username === '' &&
  password === '' &&
  hash === '';

/** @param hostname As `URL` writes it: an IPv6 address in brackets, an IPv4 address in full. */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/v.test(hostname);
