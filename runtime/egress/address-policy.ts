import type { Address } from './address.ts';
import { inRange, parseRange, type AddressRange } from './address-range.ts';

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
 * Whether an address belongs to the public internet, judged on its bits alone.
 *
 * An IPv6 address that wraps an IPv4 one is never judged by what it wraps but refused, so no spelling of an
 * address gets further than the address itself.
 *
 * Source: the IANA special-purpose registries for IPv4 and IPv6, and RFC 4291 section 2.4.
 */
export function isPublicAddress(address: Address): boolean {
  const within = (ranges: readonly AddressRange[]) => ranges.some((one) => inRange(address, one));
  return address.family === 4
    ? !within(refusedIPv4)
    : inRange(address, globalIPv6) && !within(refusedIPv6);
}
