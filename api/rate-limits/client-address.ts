import { parseAddress } from '../../runtime/egress/address.ts';

/**
 * What counts as one client: an IPv4 address, or the 64 bits of an IPv6 address that a provider hands out as a
 * whole (RFC 6177), as whoever has them can call from 2^64 addresses.
 *
 * @param ip As Koa reads it: the socket's, or what a trusted proxy says, which may be anything.
 */
export function clientAddress(ip: string): string {
  const address = parseAddress(ip.replace(/^::ffff:(?=\d+\.)/iv, ''));
  if (address === null) {
    return 'unknown';
  }

  return address.family === 4
    ? address.text
    : `${(address.bits >> 64n).toString(16).padStart(16, '0')}/64`;
}
