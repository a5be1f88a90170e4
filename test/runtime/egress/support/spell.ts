/** The 32 bits of an IPv4 address as four decimal parts. */
export const dotted = (bits: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join('.');

/** The 128 bits of an IPv6 address as eight groups, without abbreviation. */
export const grouped = (bits: bigint): string =>
  Array.from({ length: 8 }, (_, index) =>
    ((bits >> BigInt(112 - 16 * index)) & 0xffffn).toString(16),
  ).join(':');

/** The same with the last 32 bits in IPv4 notation. */
export const withDottedTail = (bits: bigint): string =>
  `${grouped(bits).split(':').slice(0, 6).join(':')}:${dotted(bits & 0xffff_ffffn)}`;

const written = (digits: string, styled: string): string =>
  digits.replaceAll(/\d/gv, (digit) => [...styled][Number(digit)] ?? digit);

/** The notations of an IPv4 address in a URL that browsers and `new URL()` read. */
export function spellingsOf(bits: bigint): string[] {
  const plain = dotted(bits);
  const parts = plain.split('.').map(BigInt);
  const [a = 0n, b = 0n, c = 0n] = parts;
  const hex = (part: bigint) => `0x${part.toString(16)}`;
  const octal = (part: bigint) => `0${part.toString(8)}`;
  const decimalForms = [
    plain,
    `${bits}`,
    `${a}.${bits & 0xff_ffffn}`,
    `${a}.${b}.${bits & 0xffffn}`,
  ];
  const mixedForms = [
    hex(bits),
    `0X${bits.toString(16).toUpperCase()}`,
    `0x000${bits.toString(16)}`,
    octal(bits),
    `000${octal(bits)}`,
    parts.map(hex).join('.'),
    parts.map(octal).join('.'),
    `${octal(a)}.${hex(b)}.${bits & 0xffffn}`,
    `${hex(a)}.${octal(bits & 0xff_ffffn)}`,
    `${a}.${hex(b)}.${octal(c)}.${bits & 0xffn}`,
  ];
  const styledForms = [
    written(plain, '０１２３４５６７８９'),
    written(`${bits}`, '０１２３４５６７８９'),
    written(plain, '𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗'),
    written(plain, '⓪①②③④⑤⑥⑦⑧⑨'),
    plain.replaceAll('.', '。'),
    plain.replaceAll('.', '．'),
    plain.replaceAll('.', '｡'),
    plain.replaceAll('.', '%2e'),
    [...plain].map((char) => `%${char.codePointAt(0)?.toString(16)}`).join(''),
    [...plain].map((char) => encodeURIComponent(written(char, '０１２３４５６７８９'))).join(''),
  ];
  const forms = [...decimalForms, ...mixedForms, ...styledForms];
  return [...forms, ...forms.map((form) => `${form}.`)];
}

/** The forms of an IPv6 address that carry an IPv4 one. `filler` fills the bits without a meaning here. */
export const wrappers: Readonly<Record<string, (v4: bigint, filler: bigint) => bigint>> = {
  compatible: (v4) => v4,
  mapped: (v4) => (0xffffn << 32n) | v4,
  'translated (SIIT)': (v4) => (0xffffn << 48n) | v4,
  NAT64: (v4) => (0x64_ff9bn << 96n) | v4,
  'NAT64, local': (v4) => (0x64_ff9b_0001n << 80n) | v4,
  '6to4': (v4, filler) => (0x2002n << 112n) | (v4 << 80n) | (filler & ((1n << 80n) - 1n)),
  'Teredo, its server': (v4, filler) =>
    (0x2001_0000n << 96n) | (v4 << 64n) | (filler & 0xffff_ffffn),
  'Teredo, its client': (v4, filler) =>
    (0x2001_0000n << 96n) | ((filler & ((1n << 64n) - 1n)) << 32n) | (v4 ^ 0xffff_ffffn),
  ISATAP: (v4) => (0xfe80n << 112n) | (0x5efen << 32n) | v4,
};
