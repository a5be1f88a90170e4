import type { Target } from './target.ts';

/**
 * Ports from 1024 up to which a request to a public host may not go: those that browsers block
 * (source: the WHATWG Fetch standard, "bad port"), and those where databases, queues and control planes listen.
 * Nobody receives webhooks there, and a TLS hello at such a port looks like a scan.
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
