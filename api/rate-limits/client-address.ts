import type { Context } from 'koa';
import type { Origin } from '../../db/audit.ts';
import { parseAddress } from '../../runtime/egress/addresses.ts';

/**
 * The key of a client: its IPv4 address, or the /64 prefix that a provider assigns to one client (RFC 6177).
 *
 * @param ip As Koa reads it: some proxies add a port, and their header may hold anything.
 */
export function clientAddress(ip: string): string {
  const address = readAddress(ip);
  if (address === null) {
    return 'unknown';
  }

  return address.family === 4
    ? address.text
    : `${Buffer.from(address.parsed.toByteArray().slice(0, 8)).toString('hex')}/64`;
}

/** The request id and the client's address, for the audit log. The address is always parsed, never a header's raw text. */
export function originOf(ctx: Context): Origin {
  const address = readAddress(ctx.ip)?.text;
  return { requestId: String(ctx.state['requestId']), ...(address ? { address } : {}) };
}

const readAddress = (ip: string) =>
  parseAddress(withoutPort(ip).replace(/^::ffff:(?=\d+\.)/iv, ''));

/** Strips the port of `203.0.113.7:4711` and `[2001:db8::7]:4711`. */
function withoutPort(ip: string): string {
  const { v4, v6 } =
    /^(?:(?<v4>[\d.]+):\d+|\[(?<v6>[^\[\]]*:[^\[\]]*)\](?::\d+)?)$/v.exec(ip)?.groups ?? {};
  return v4 ?? v6 ?? ip;
}
