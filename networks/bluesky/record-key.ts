import { createHash } from 'node:crypto';

const digits = '234567abcdefghijklmnopqrstuvwxyz';

/**
 * The record key of a post: a TID made of a time and of the part's key instead of a clock and chance, so that every
 * try has the same one and a second post cannot come of it.
 *
 * 53 bits of microseconds (the milliseconds given, and microseconds from the hash), then 10 bits from the hash.
 * Keys of later milliseconds sort after those of earlier ones.
 *
 * Source: https://atproto.com/specs/tid
 *
 * @param atMs Whole milliseconds since 1970.
 */
export function recordKey(atMs: number, partKey: string): string {
  const hash = createHash('sha256').update(partKey).digest();
  const microseconds = BigInt(atMs) * 1000n + BigInt(hash.readUInt16BE(0) % 1000);
  const value = (microseconds << 10n) | BigInt(hash.readUInt16BE(2) % 1024);
  return Array.from({ length: 13 }, (_, index) => {
    const shift = BigInt(5 * (12 - index));
    return digits.charAt(Number((value >> shift) & 31n));
  }).join('');
}
