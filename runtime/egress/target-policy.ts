import { isInRange, parseRange, type Address, type AddressRange } from './address.ts';
import {
  behindNat64,
  isAllowed,
  opensPort,
  type AllowList,
  type Nat64Prefixes,
} from './operator-lists.ts';
import type { Target } from './target.ts';

/** What the operator says about addresses. */
export type OperatorLists = { readonly allow: AllowList; readonly nat64?: Nat64Prefixes };

/**
 * Whether a target may be dialled at this address; null, or the reason against it in a sentence for the URL's author.
 *
 * Two kinds pass: an address that the operator allows at this port, whatever the URL looks like; and a public
 * address of a target that looks public. So plain http, a local name or an odd port needs allowed addresses. An
 * address behind NAT64 is checked as the IPv4 address that it leads to.
 */
export function addressProblem(
  target: Target,
  address: Address,
  { allow, nat64 = [] }: OperatorLists,
): string | null {
  const reached = behindNat64(address, nat64);
  if (isAllowed(allow, reached, target.port)) {
    return null;
  }

  return (
    problemInPublic(target) ??
    (isPublicAddress(reached) ? null : 'The host of the URL does not lead to a public address.')
  );
}

/** Checks as much of a target as is known before DNS is asked; null, or the reason as in `addressProblem`. */
export function targetProblem(target: Target, lists: OperatorLists): string | null {
  if (target.address) {
    return addressProblem(target, target.address, lists);
  }

  return opensPort(lists.allow, target.port) ? null : problemInPublic(target);
}

/**
 * Ports from 1024 up to which a request to a public host may not go: those that browsers block
 * (source: the WHATWG Fetch standard, "bad port"), and those where databases, queues and control planes listen.
 * No webhooks are received there, and a TLS hello at such a port looks like a scan.
 */
const refusedPorts: ReadonlySet<number> = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669,
  6679, 6697, 10_080, 1433, 1521, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672, 5900, 6379, 6380,
  6443, 8500, 9042, 9092, 9200, 9300, 10_250, 11_211, 15_672, 27_017,
]);

/** Endings that no public name has: reserved by RFC 2606, 6761, 6762, 7686 and 8375, or in use inside networks. */
const localSuffixes = [
  'localhost',
  'local',
  'internal',
  'intranet',
  'private',
  'lan',
  'home',
  'home.arpa',
  'corp',
  'test',
  'invalid',
  'example',
  'onion',
  'svc',
  'cluster.local',
];

/**
 * What keeps a target from being a public one, in a sentence for the URL's author; null when nothing does.
 *
 * Port 443, and any from 1024 up except those above: receivers on 8443 and the like exist, instances of
 * networks on odd ports too, while of the ports below 1024 only 443 is for https.
 */
export function problemInPublic(target: Target): string | null {
  const { secure, host, address, port } = target;
  if (target.isOwn) {
    return target.isBesideUs
      ? 'The URL is not public https. The operator can open an address such as this one by PUNCTUAL_EGRESS_ALLOW_WEBHOOKS.'
      : 'The URL leads to this service itself.';
  }

  if (!secure) {
    return 'The URL does not begin with https://.';
  }

  if (port !== 443 && (port < 1024 || refusedPorts.has(port))) {
    return `Requests do not go to port ${port}; 443 and 8443 are good ones.`;
  }

  const isLocalName =
    !address &&
    (!host.includes('.') || localSuffixes.some((suffix) => `.${host}`.endsWith(`.${suffix}`)));
  return isLocalName ? 'The host of the URL is not a public name.' : null;
}

const range = (text: string): AddressRange => {
  const parsed = parseRange(text);
  if (!parsed) {
    throw new Error(`${text} is not a range.`);
  }

  return parsed;
};

/** What IANA's registry of special IPv4 addresses does not call globally reachable, and one more. */
const refusedIPv4 = [
  '0.0.0.0/8', // this host
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier NAT, and a cloud's metadata at 100.100.100.200
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // public by its number, yet the host agent of every Azure machine
  '169.254.0.0/16', // link-local, the metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments, metadata at 192.0.0.192
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // the old 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
].map(range);

/**
 * The only IPv6 space that is handed out for the public. All that can wrap an IPv4 address without looking like
 * it (mapped, compatible, translated, NAT64) lies outside.
 */
const globalIPv6 = range('2000::/3');

const refusedIPv6 = [
  '2001::/23', // protocol assignments: Teredo, ORCHID, benchmarks
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: wraps an IPv4 address
  '2620:4f:8000::/48', // AS112
  '3ffe::/16', // the old 6bone
  '3fff::/20', // documentation
].map(range);

/**
 * Whether an address belongs to the public internet, as its bits alone tell.
 *
 * An IPv6 address that wraps an IPv4 one is refused and never checked by what it wraps, so no spelling of an
 * address gets further than the address itself.
 *
 * Source: the IANA special-purpose registries for IPv4 and IPv6, and RFC 4291 section 2.4.
 */
export function isPublicAddress(address: Address): boolean {
  const within = (ranges: readonly AddressRange[]) => ranges.some((one) => isInRange(address, one));
  return address.family === 4
    ? !within(refusedIPv4)
    : isInRange(address, globalIPv6) && !within(refusedIPv6);
}
