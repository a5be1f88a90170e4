import { parseAddress, type Address } from './address.ts';
import { inRange, parseRange, type AddressRange } from './address-range.ts';

/** Prefixes at which the operator's network translates IPv6 to IPv4 (RFC 6146). */
export type Nat64Prefixes = readonly AddressRange[];

/**
 * Reads `64:ff9b::/96,2001:db8:64::/96`. Empty text is an empty list.
 *
 * Of the lengths of RFC 6052 only /96, at which the IPv4 address is the last 32 bits: in any other place a mistake
 * in the length would be a way to addresses that nobody judged.
 *
 * @throws Error that names the entry, when one is not of this form.
 */
export function parseNat64Prefixes(text: string): Nat64Prefixes {
  return text.trim() === '' ? [] : text.split(',').map((entry) => parsePrefix(entry.trim()));
}

function parsePrefix(entry: string): AddressRange {
  const range = parseRange(entry);
  if (range?.family !== 6 || range.prefix !== 96) {
    throw new Error(`"${entry}" is not an IPv6 prefix of 96 bits, such as 64:ff9b::/96.`);
  }

  return range;
}

/** The IPv4 address that a translator makes of this one; the address itself where none does. */
export function behindNat64(address: Address, prefixes: Nat64Prefixes): Address {
  if (!prefixes.some((prefix) => inRange(address, prefix))) {
    return address;
  }

  const bytes = [24n, 16n, 8n, 0n].map((shift) => (address.bits >> shift) & 0xffn);
  return parseAddress(bytes.join('.')) ?? address;
}
