import ipaddr from 'ipaddr.js';

/** An IP address as the number that a socket uses. */
export type Address = {
  readonly family: 4 | 6;
  /** 32 bits wide for family 4, 128 for family 6. */
  readonly bits: bigint;
  /** The one normal spelling of `bits`, so that what was judged is what gets dialled. */
  readonly text: string;
};

/**
 * Reads an address as DNS, a socket or a parsed URL spells it (no brackets).
 *
 * IPv4 only as four decimal parts, IPv6 without a zone. Returns null for anything else: the laxer spellings
 * (`127.1`, `0x7f.1`, `017700000001`) become four parts in `new URL()`, and from anywhere else they are suspect.
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

function toAddress(family: 4 | 6, parsed: ipaddr.IPv4 | ipaddr.IPv6): Address {
  const bits = BigInt(`0x${Buffer.from(parsed.toByteArray()).toString('hex')}`);
  return { family, bits, text: parsed.toString() };
}
