import test from 'ava';
import { BlockList } from 'node:net';
import { parseAddress } from '../../../runtime/egress/addresses.ts';
import { checkUrl } from '../../../runtime/egress/destination.ts';
import { isPublicAddress } from '../../../runtime/egress/target.ts';
import { randomBits } from './support/random.ts';
import { dotted, grouped, spellingsOf, withDottedTail, wrappers } from './support/spell.ts';

const isPublic = (text: string): boolean => {
  const address = parseAddress(text);
  if (!address) {
    throw new Error(`${text} is not an address.`);
  }

  return isPublicAddress(address);
};

test('only the standard notations of an address are read', (t) => {
  for (const text of [
    '',
    '127.1',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '127.0.0.01',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '2130706433',
    '[::1]',
    'fe80::1%eth0',
    '::1%lo',
    ':::1',
    '1.2.3.4/8',
    'example.com',
  ]) {
    t.is(parseAddress(text), null, text);
  }
  t.like(parseAddress('::ffff:1.2.3.4'), { family: 6, text: '::ffff:102:304' });
  t.like(parseAddress('2001:DB8:0:0::1'), { text: '2001:db8::1' });
});

/**
 * The refused ranges, written a second time from the policy and checked by Node's own `BlockList`: its parser and its
 * comparison are independent of the product's.
 */
const refused4 = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32
  192.31.196.0/24 192.52.193.0/24 192.175.48.0/24`;
const refused6 = '2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3ffe::/16 3fff::/20';

const rangesOf = (text: string): [net: string, prefix: number][] =>
  text.split(/\s+/v).map((range) => {
    const [net = '', prefix] = range.split('/');
    return [net, Number(prefix)];
  });

function listOf(family: 'ipv4' | 'ipv6', text: string): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of rangesOf(text)) {
    list.addSubnet(net, prefix, family);
  }
  return list;
}

const list4 = listOf('ipv4', refused4);
const list6 = listOf('ipv6', refused6);
const global6 = listOf('ipv6', '2000::/3');

const mayBeDialled = {
  4: (text: string) => !list4.check(text, 'ipv4'),
  6: (text: string) => global6.check(text, 'ipv6') && !list6.check(text, 'ipv6'),
} as const;

const widths = { 4: 32, 6: 128 } as const;
const spell = { 4: dotted, 6: grouped } as const;

const bitsOf = (net: string): bigint =>
  BigInt(`0x${Buffer.from(parseAddress(net)?.parsed.toByteArray() ?? []).toString('hex')}`);

/** Both ends of each range, their neighbours outside, addresses within, and as many random ones. */
function* cases(family: 4 | 6, ranges: string, each: number): Generator<string> {
  const width = widths[family];
  const random = randomBits(width);
  const all = 1n << BigInt(width);
  for (const [net, prefix] of rangesOf(ranges)) {
    const first = bitsOf(net);
    const size = 1n << BigInt(width - prefix);
    const bounds = [
      first - 1n,
      first,
      first + 1n,
      first + size - 2n,
      first + size - 1n,
      first + size,
    ];
    for (const bits of bounds) {
      yield spell[family]((bits + all) % all);
    }
    for (let count = 0; count < each; count += 1) {
      yield spell[family](first + (random(width) % size));
      yield spell[family](random(width));
    }
  }
}

for (const [family, ranges, each] of [
  [4, refused4, 150],
  [6, `${refused6} 2000::/3 2001::/16 2620::/16`, 300],
] as const) {
  test(`thousands of IPv${family} addresses get the verdict of an independent implementation of the policy`, (t) => {
    const wrong: string[] = [];
    let [dialled, refused] = [0, 0];
    for (const text of cases(family, ranges, each)) {
      const expected = mayBeDialled[family](text);
      const address = parseAddress(text);
      dialled += expected ? 1 : 0;
      refused += expected ? 0 : 1;
      if (!address || isPublicAddress(address) !== expected) {
        wrong.push(`${text} should be ${expected ? 'public' : 'refused'}`);
      }
    }

    t.deepEqual(wrong, []);
    t.true(dialled > 1000 && refused > 1000, `${dialled} public, ${refused} not`);
  });
}

const isAccepted = (host: string): boolean => checkUrl(`https://${host}/`, { allow: [] }) === null;

/** First octets of refused ranges, which random addresses would seldom have. */
const privateStarts = [0n, 10n, 127n, 224n, 255n];
const privatePrefixes = [0xa9fen, 0xc0a8n, 0xac10n, 0x6440n, 0xc612n];

/** Random addresses; half of them are not public. */
function addresses(seed: number, count: number): bigint[] {
  const random = randomBits(seed);
  return Array.from({ length: count }, (_, index) => {
    const start = privateStarts[index % privateStarts.length] ?? 0n;
    const prefix = privatePrefixes[index % privatePrefixes.length] ?? 0n;
    const kinds = [
      random(32),
      (start << 24n) | random(24),
      random(32),
      (prefix << 16n) | random(16),
    ];
    return kinds[index % 4] ?? 0n;
  });
}

test('every notation of an IPv4 address in a URL gets the verdict of the address', (t) => {
  const [laxer, stricter]: string[][] = [[], []];
  let [judged, refused] = [0, 0];
  for (const bits of addresses(5, 200)) {
    const isRight = isAccepted(dotted(bits));
    refused += isRight ? 0 : 1;
    for (const spelling of spellingsOf(bits)) {
      judged += 1;
      if (isAccepted(spelling) !== isRight) {
        (isRight ? stricter : laxer)?.push(`${spelling} for ${dotted(bits)}`);
      }
    }
  }

  t.deepEqual({ laxer, stricter }, { laxer: [], stricter: [] });
  t.true(judged > 5000 && refused > 50 && refused < 150);
});

test('an IPv4 address in any IPv6 form never becomes public', (t) => {
  const random = randomBits(4);
  const accepted: string[] = [];
  let judged = 0;
  for (const v4 of addresses(6, 300)) {
    for (const [name, wrap] of Object.entries(wrappers)) {
      const bits = wrap(v4, random(128));
      for (const text of [grouped(bits), withDottedTail(bits)]) {
        judged += 1;
        if (isAccepted(`[${text}]`)) {
          accepted.push(`${name}: ${text} for ${dotted(v4)}`);
        }
      }
    }
  }

  t.deepEqual(accepted, []);
  t.true(judged > 5000);
});

test('an address that is accepted in a URL is public on its own too', (t) => {
  const random = randomBits(7);
  for (let count = 0; count < 2000; count += 1) {
    const text = count % 2 ? dotted(random(32)) : grouped((1n << 125n) | (random(128) >> 3n));
    t.is(isAccepted(count % 2 ? text : `[${text}]`), isPublic(text), text);
  }
});
