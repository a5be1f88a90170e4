import { parseAddress, type Address } from './address.ts';

/** All addresses of one family that share their first `prefix` bits. */
export type AddressRange = {
  readonly family: 4 | 6;
  readonly bits: bigint;
  readonly prefix: number;
};

const widths = { 4: 32, 6: 128 } as const;

/** Reads `10.0.0.0/8` or `fc00::/7`. Null when it is neither, or when a bit after the prefix is set. */
export function parseRange(text: string): AddressRange | null {
  const match = /^([^\/]+)\/(0|[1-9]\d{0,2})$/v.exec(text);
  const address = parseAddress(match?.[1] ?? '');
  const prefix = Number(match?.[2]);
  if (!address || prefix > widths[address.family]) {
    return null;
  }

  const rest = BigInt(widths[address.family] - prefix);
  const isWhole = (address.bits >> rest) << rest === address.bits;
  return isWhole ? { family: address.family, bits: address.bits, prefix } : null;
}

export function inRange(address: Address, range: AddressRange): boolean {
  if (address.family !== range.family) {
    return false;
  }

  const rest = BigInt(widths[range.family] - range.prefix);
  return address.bits >> rest === range.bits >> rest;
}
