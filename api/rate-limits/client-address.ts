import { parseAddress } from '../../runtime/egress/address.ts';

/**
 * What counts as one client: an IPv4 address, or the 64 bits of an IPv6 address that a provider hands out as a
 * whole (RFC 6177), as whoever has them can call from 2^64 addresses.
 *
 * @param ip Also with a port, as some proxies write it. As Koa reads it: the socket's, or what a trusted proxy says, which may be anything.
 */
export function clientAddress(ip: string): string {
  const address = parseAddress(withoutPort(ip).replace(/^::ffff:(?=\d+\.)/iv, ''));
  if (address === null) {
    return 'unknown';
  }

  return address.family === 4
    ? address.text
    : `${Buffer.from(address.parsed.toByteArray().slice(0, 8)).toString('hex')}/64`;
}

/** `203.0.113.7:4711` and `[2001:db8::7]:4711` without their ports; everything else as it is. */
function withoutPort(ip: string): string {
  const { v4, v6 } =
    /^(?:(?<v4>[\d.]+):\d+|\[(?<v6>[^\[\]]*:[^\[\]]*)\](?::\d+)?)$/v.exec(ip)?.groups ?? {};
  return v4 ?? v6 ?? ip;
}
