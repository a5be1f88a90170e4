import { isInRange, parseAddress, parseRange, type Address, type AddressRange } from './address.ts';

/** Addresses, each with one port, that the operator opened: also when they are not public, and for plain http. */
export type AllowList = readonly AllowEntry[];
type AllowEntry = { readonly range: AddressRange; readonly port: number };

/**
 * Reads `127.0.0.1/32:8080,[::1]/128:9000`. Empty text is an empty list.
 *
 * A prefix and a port are required: the hole should be as small as the service behind it, and an operator who opens
 * a whole network should have to write that down.
 *
 * @throws Error that names the entry, when one is not of this form.
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

/** Whether anything at all is open at a port: only then can a name still turn out to be allowed. */
export const opensPort = (allow: AllowList, port: number): boolean =>
  allow.some((entry) => entry.port === port);

/** Prefixes at which the operator's network translates IPv6 to IPv4 (RFC 6146). */
export type Nat64Prefixes = readonly AddressRange[];

/**
 * Reads `64:ff9b::/96,2001:db8:64::/96`. Empty text is an empty list.
 *
 * Of the lengths of RFC 6052 only /96, at which the IPv4 address is the last 32 bits: in any other place a mistake
 * in the length would be a way to addresses that were never checked.
 *
 * @throws Error that names the entry, when one is not of this form.
 */
export const parseNat64Prefixes = (text: string): Nat64Prefixes => entriesOf(text).map(parsePrefix);

function parsePrefix(entry: string): AddressRange {
  const range = parseRange(entry);
  if (range?.start.family !== 6 || range.prefix !== 96) {
    throw new Error(`"${entry}" is not an IPv6 prefix of 96 bits, such as 64:ff9b::/96.`);
  }

  return range;
}

/** The IPv4 address that a translator makes of this one; the address itself where none does. */
export function behindNat64(address: Address, prefixes: Nat64Prefixes): Address {
  if (!prefixes.some((prefix) => isInRange(address, prefix))) {
    return address;
  }

  return parseAddress(address.parsed.toByteArray().slice(-4).join('.')) ?? address;
}

const entriesOf = (list: string): string[] =>
  list.trim() === '' ? [] : list.split(',').map((entry) => entry.trim());
