import {
  behindNat64,
  isAllowed,
  isInRange,
  opensPort,
  parseAddress,
  parseRange,
  type Address,
  type AddressRange,
  type AllowList,
  type Nat64Prefixes,
} from './addresses.ts';

/** The target of a URL, from its text alone. */
export type RequestTarget = {
  readonly secure: boolean;
  /** A name in lower case and punycode, or an address without brackets; no trailing dot. */
  readonly host: string;
  /** The address, when the host is one instead of a name. */
  readonly address: Address | null;
  readonly port: number;
  /** The host is this service's own, which the caller wants to avoid. */
  readonly isOwn?: boolean;
  /** With `isOwn`: the host is the loopback and the port is not the service's, so something else listens there. */
  readonly isBesideUs?: boolean;
};

export type ParsedUrl =
  | { readonly target: RequestTarget; readonly origin: string; readonly path: string }
  | { readonly refusal: string };

/**
 * Parses a URL, or returns a sentence for its author. Checks the raw text first, because `new URL()` silently drops tabs
 * and line ends and turns `\` into `/`. `origin` has no trailing dot, which TLS servers do not expect.
 */
export function parseUrl(text: string): ParsedUrl {
  if (/[\p{Cc}\s\\]/v.test(text)) {
    return { refusal: 'The URL contains a space, a control character or a backslash.' };
  }

  if (!/^https?:\/\/[^\/]/iv.test(text) || !URL.canParse(text)) {
    return { refusal: 'This is not a URL of the form https://host/path.' };
  }

  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    return { refusal: 'The URL contains a user name or a password.' };
  }

  const host = url.hostname.replace(/\.$/v, '');
  const address = parseAddress(host.replace(/^\[(.*)\]$/v, '$1'));
  if (!address && !isHostName(host)) {
    return { refusal: 'The host of the URL is not a valid name.' };
  }

  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  return {
    target: { secure, host: address?.text ?? host, address, port },
    origin: `${url.protocol}//${host}:${port}`,
    path: url.pathname + url.search,
  };
}

/** Lengths as in DNS; underscores are not in its rules but in use. */
const isHostName = (host: string): boolean =>
  host.length <= 253 && /^[a-z0-9_\-]{1,63}(?:\.[a-z0-9_\-]{1,63})*$/v.test(host);

/**
 * The form in which a URL is stored and shown. Path and query keep every byte, because a receiver may distinguish `%7E`
 * from `~`.
 *
 * @throws TypeError for a text that `parseUrl` refuses.
 */
export function normalUrl(text: string): string {
  const parsed = parseUrl(text);
  if ('refusal' in parsed) {
    throw new TypeError(parsed.refusal);
  }

  const { secure, host, address, port } = parsed.target;
  const scheme = secure ? 'https' : 'http';
  const place = address?.family === 6 ? `[${host}]` : host;
  const at = port === (secure ? 443 : 80) ? '' : `:${port}`;
  const [, rest = ''] = /^[^:]+:\/\/[^\/?#]*([^#]*)/v.exec(text) ?? [];
  return `${scheme}://${place}${at}${rest}`;
}

/** Marks a target on this service's own host. Compares names only: an address may be that of a shared proxy. */
export function markOwn(target: RequestTarget, ownUrl: string | undefined): RequestTarget {
  const own = parseUrl(ownUrl ?? '');
  if (!('target' in own && own.target.host === target.host)) {
    return target;
  }

  const isBesideUs = isLoopback(target.host) && own.target.port !== target.port;
  return { ...target, isOwn: true, isBesideUs };
}

const isLoopback = (host: string): boolean => /^(?:127\.[\d.]+|::1|localhost)$/v.test(host);

/** The operator's address lists. */
export type OperatorLists = {
  readonly allow: AllowList;
  readonly nat64?: Nat64Prefixes;
  /** The setting of `allow`, which a refusal of a local address names. */
  readonly setting?: string;
};

/**
 * Returns null when a target may be dialled at this address, otherwise the reason in a sentence for the URL's author.
 * Plain http, a local name or an odd port need an address that the operator opened. An address behind NAT64 is checked as
 * the IPv4 address it maps to.
 */
export function addressProblem(
  target: RequestTarget,
  address: Address,
  { allow, nat64 = [], setting }: OperatorLists,
): string | null {
  const reached = behindNat64(address, nat64);
  if (isAllowed(allow, reached, target.port)) {
    return null;
  }

  const problem =
    problemInPublic(target) ??
    (isPublicAddress(reached) ? null : 'The host of the URL does not lead to a public address.');
  return withAdvice(problem, target, setting);
}

/** Checks a target before DNS is queried. Returns null or the reason, like `addressProblem`. */
export function targetProblem(target: RequestTarget, lists: OperatorLists): string | null {
  if (target.address) {
    return addressProblem(target, target.address, lists);
  }

  return opensPort(lists.allow, target.port)
    ? null
    : withAdvice(problemInPublic(target), target, lists.setting);
}

/** Adds how an operator allows a local address, if the URL names one: developers run receivers and servers there. */
function withAdvice(
  problem: string | null,
  { host, port, isOwn = false, isBesideUs = false }: RequestTarget,
  setting: string | undefined,
): string | null {
  const address = parseAddress(host === 'localhost' ? '127.0.0.1' : host);
  const isLocal =
    address && ['loopback', 'private', 'uniqueLocal'].includes(address.parsed.range());
  if (problem === null || setting === undefined || !isLocal || (isOwn && !isBesideUs)) {
    return problem;
  }

  const opened = address.family === 6 ? `[${address.text}]/128` : `${address.text}/32`;
  return `${problem} In development, the operator can allow it with ${setting}=${opened}:${port}.`;
}

/** From 1024 up: ports that browsers block (the WHATWG Fetch standard, "bad port"), of databases, queues, control planes. */
const refusedPorts: ReadonlySet<number> = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669,
  6679, 6697, 10_080, 1433, 1521, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672, 5900, 6379, 6380,
  6443, 8500, 9042, 9092, 9200, 9300, 10_250, 11_211, 15_672, 27_017,
]);

/** Endings that are never public: reserved by RFC 2606, 6761, 6762, 7686 and 8375, or used in private networks. */
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

/** Returns why a target is not public, in a sentence for the URL's author; null when it is. */
export function problemInPublic(target: RequestTarget): string | null {
  const { secure, host, address, port } = target;
  if (target.isOwn) {
    return target.isBesideUs
      ? 'The URL is not public https.'
      : 'The URL leads to this service itself.';
  }

  if (!secure) {
    return 'The URL does not begin with https://.';
  }

  if (port !== 443 && (port < 1024 || refusedPorts.has(port))) {
    return `Port ${port} is not allowed. Use 443 or 8443.`;
  }

  const isLocalName =
    !address &&
    (!host.includes('.') || localSuffixes.some((suffix) => `.${host}`.endsWith(`.${suffix}`)));
  return isLocalName ? 'The host of the URL is not a public name.' : null;
}

/** Ranges that the library calls unicast. */
const alsoRefused = [
  '168.63.129.16/32', // public by its number, yet the host agent of every Azure machine
  '3ffe::/16', // the old 6bone
].map(parseRange);

/**
 * The only IPv6 space that is allocated for public use. All ranges that can wrap an IPv4 address unnoticed (mapped,
 * compatible, translated, NAT64) are outside of it.
 */
const globalIPv6 = parseRange('2000::/3');

/**
 * Whether an address belongs to the public internet. An IPv6 address that wraps an IPv4 address is refused.
 *
 * Source: the IANA special-purpose registries for IPv4 and IPv6, as ipaddr.js has them, and RFC 4291 section 2.4.
 */
export function isPublicAddress(address: Address): boolean {
  const within = (one: AddressRange | null) => one !== null && isInRange(address, one);
  return (
    address.parsed.range() === 'unicast' &&
    !alsoRefused.some(within) &&
    (address.family === 4 || within(globalIPv6))
  );
}
