import * as fc from 'fast-check';
import { checkUrl } from '../../runtime/egress/destination.ts';
import { parseAllowList } from '../../runtime/egress/addresses.ts';
import { normalUrl } from '../../runtime/egress/target.ts';
import type { Property } from './property.ts';

const none = parseAllowList('');

/** Addresses that requests may not reach, as four bytes. */
const inside = fc.oneof(
  fc.tuple(fc.constantFrom(10, 127, 0), fc.nat(255), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.constant(192), fc.constant(168), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.constant(169), fc.constant(254), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), fc.nat(255), fc.nat(255)),
);

type Bytes = readonly [number, number, number, number];
const hex = (byte: number): string => byte.toString(16).padStart(2, '0');
const whole = (bytes: Bytes): number => bytes.reduce((sum, byte) => sum * 256 + byte, 0);

/** The notations that at least one parser accepts as an IPv4 address. */
const notations: readonly ((bytes: Bytes) => string)[] = [
  (bytes) => bytes.join('.'),
  (bytes) => String(whole(bytes)),
  (bytes) => `0x${whole(bytes).toString(16)}`,
  (bytes) => `0${whole(bytes).toString(8)}`,
  (bytes) => bytes.map((byte) => `0x${hex(byte)}`).join('.'),
  (bytes) => bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
  ([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
  ([a, b, c, d]) => `${a}.${(b * 256 + c) * 256 + d}`,
  (bytes) => `${bytes.join('.')}.`,
  (bytes) => bytes.join('。'),
  (bytes) => `[::ffff:${bytes.join('.')}]`,
  ([a, b, c, d]) => `[::ffff:${hex(a)}${hex(b)}:${hex(c)}${hex(d)}]`,
  ([a, b, c, d]) => `[64:ff9b::${hex(a)}${hex(b)}:${hex(c)}${hex(d)}]`,
  ([a, b, c, d]) => `[2002:${hex(a)}${hex(b)}:${hex(c)}${hex(d)}::]`,
  (bytes) => `[::${bytes.join('.')}]`,
  (bytes) => bytes.join('.').replaceAll('1', '１'),
  (bytes) => bytes.join('.').replaceAll('1', '①'),
  (bytes) =>
    `%${Buffer.from(String(bytes[0])).toString('hex').slice(0, 2)}${bytes.join('.').slice(1)}`,
];

const port = fc.constantFrom('', ':443', ':8443', ':0', ':65535');
const user = fc.constantFrom('', 'a@', 'a:b@', 'example.com@', 'example.com%40');

/** For any input, the check returns a message or null without throwing, and internal addresses are refused. */
export const urlProperties: readonly Property[] = [
  {
    name: 'typed URLs',
    check: fc.property(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 300 }),
        fc.webUrl({ withFragments: true, withQueryParameters: true }),
        fc
          .webUrl()
          .chain((url) =>
            fc
              .tuple(fc.nat(url.length), fc.string({ unit: 'binary', maxLength: 4 }))
              .map(([at, put]) => url.slice(0, at) + put + url.slice(at)),
          ),
      ),
      (url) => {
        if (
          checkUrl(url, { allow: none }) === null &&
          normalUrl(normalUrl(url)) !== normalUrl(url)
        ) {
          throw new Error('Normalizing its normal form changes it.');
        }
      },
    ),
  },
  {
    name: 'internal addresses, in any notation',
    check: fc.property(
      inside,
      fc.constantFrom(...notations),
      user,
      port,
      (bytes, write, before, after) => {
        const url = `https://${before}${write(bytes)}${after}/`;
        if (checkUrl(url, { allow: none }) === null) {
          throw new Error(`${url} is let through.`);
        }
      },
    ),
  },
];
