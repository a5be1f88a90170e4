import type { Address } from './address.ts';
import { inRange, parseRange, type AddressRange } from './address-range.ts';

/** Addresses, each with one port, that the operator opened: also when they are not public, and for plain http. */
export type AllowList = readonly AllowEntry[];
export type AllowEntry = { readonly range: AddressRange; readonly port: number };

/**
 * Reads `127.0.0.1/32:8080,[::1]/128:9000`. Empty text is an empty list.
 *
 * A prefix and a port are required: the hole should be as small as the service behind it, and whoever opens
 * a whole network should have to write that down.
 *
 * @throws Error that names the entry, when one is not of this form.
 */
export function parseAllowList(text: string): AllowList {
  return text.trim() === '' ? [] : text.split(',').map((entry) => parseEntry(entry.trim()));
}

function parseEntry(entry: string): AllowEntry {
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
  return allow.some((entry) => entry.port === port && inRange(address, entry.range));
}

/** Whether anything at all is open at a port: only then can a name still turn out to be allowed. */
export const opensPort = (allow: AllowList, port: number): boolean =>
  allow.some((entry) => entry.port === port);
