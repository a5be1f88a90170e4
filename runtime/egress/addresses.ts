import ipaddr from 'ipaddr.js';

/** An IP address as a socket uses it. */
export type Address = {
  readonly family: 4 | 6;
  /** The normal spelling, so that the checked address is the one that is dialled. */
  readonly text: string;
  readonly parsed: ipaddr.IPv4 | ipaddr.IPv6;
};

/**
 * Reads IPv4 as four decimal parts and IPv6 without brackets or a zone; null for anything else. `new URL()` turns laxer
 * spellings (`127.1`, `0x7f.1`) into four parts; from any other source they are suspect.
 */
export function parseAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) {
    return toAddress(4, ipaddr.IPv4.parse(text));
  }

  if (text.includes(':') && !text.includes('%') && ipaddr.IPv6.isValid(text)) {
    return toAddress(6, ipaddr.IPv6.parse(text));
  }

  return null;
}

const toAddress = (family: 4 | 6, parsed: ipaddr.IPv4 | ipaddr.IPv6): Address => ({
  family,
  text: parsed.toString(),
  parsed,
});

/** All addresses of one family that share their first `prefix` bits. */
export type AddressRange = { readonly start: Address; readonly prefix: number };

const widths = { 4: 32, 6: 128 } as const;

/** Reads `10.0.0.0/8` or `fc00::/7`. Null when it is neither, or when a bit after the prefix is set. */
export function parseRange(text: string): AddressRange | null {
  const match = /^([^\/]+)\/(0|[1-9]\d{0,2})$/v.exec(text);
  const start = parseAddress(match?.[1] ?? '');
  const prefix = Number(match?.[2]);
  if (!start || prefix > widths[start.family]) {
    return null;
  }

  const { IPv4, IPv6 } = ipaddr;
  const first = (start.family === 4 ? IPv4 : IPv6).networkAddressFromCIDR(
    `${start.text}/${prefix}`,
  );
  return first.toString() === start.text ? { start, prefix } : null;
}

/** False for a range of the other family, even when the address wraps an address of that family. */
export const isInRange = ({ parsed }: Address, { start, prefix }: AddressRange): boolean =>
  parsed.kind() === start.parsed.kind() && parsed.match(start.parsed, prefix);

/** Addresses with one port each that the operator opened, even when they are not public or use plain http. */
export type AllowList = readonly AllowEntry[];
type AllowEntry = { readonly range: AddressRange; readonly port: number };

/**
 * Reads `127.0.0.1/32:8080,[::1]/128:9000`. Prefix and port are required, so that an operator opens no more than
 * intended.
 *
 * @throws Error that names the invalid entry.
 */
export const parseAllowList = (text: string): AllowList => entriesOf(text).map(parseAllowEntry);

function parseAllowEntry(entry: string): AllowEntry {
  const match = /^(?:\[([^\[\]]*:[^\[\]]*)\]|([^\[\]:]+))(\/\d+):([1-9]\d{0,4})$/v.exec(entry);
  const range = parseRange(`${match?.[1] ?? match?.[2]}${match?.[3]}`);
  const port = Number(match?.[4]);
  if (!range || !(port <= 65_535)) {
    throw new Error(
      `"${entry}" is not an address with a prefix and a port, such as 127.0.0.1/32:8080 or [::1]/128:9000.`,
    );
  }

  return { range, port };
}

export function isAllowed(allow: AllowList, address: Address, port: number): boolean {
  return allow.some((entry) => entry.port === port && isInRange(address, entry.range));
}

/** Whether any address is open at this port; only then can a name still resolve to an allowed one. */
export const opensPort = (allow: AllowList, port: number): boolean =>
  allow.some((entry) => entry.port === port);

/** Prefixes with which the operator's network translates IPv6 to IPv4 (RFC 6146). */
export type Nat64Prefixes = readonly AddressRange[];

/**
 * Reads `64:ff9b::/96,2001:db8:64::/96`. Accepts only the length /96 of RFC 6052, where the IPv4 address is the last 32
 * bits: with other lengths, a mistake would open a way to unchecked addresses.
 *
 * @throws Error that names the invalid entry.
 */
export const parseNat64Prefixes = (text: string): Nat64Prefixes => entriesOf(text).map(parsePrefix);

function parsePrefix(entry: string): AddressRange {
  const range = parseRange(entry);
  if (range?.start.family !== 6 || range.prefix !== 96) {
    throw new Error(`"${entry}" is not an IPv6 prefix of 96 bits, such as 64:ff9b::/96.`);
  }

  return range;
}

/** The IPv4 address behind a NAT64 address; any other address unchanged. */
export function behindNat64(address: Address, prefixes: Nat64Prefixes): Address {
  if (!prefixes.some((prefix) => isInRange(address, prefix))) {
    return address;
  }

  return parseAddress(address.parsed.toByteArray().slice(-4).join('.')) ?? address;
}

const entriesOf = (list: string): string[] =>
  list.trim() === '' ? [] : list.split(',').map((entry) => entry.trim());
