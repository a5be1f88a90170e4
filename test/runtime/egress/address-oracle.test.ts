import { BlockList } from 'node:net';
import test from 'ava';
import { isPublicAddress } from '../../../runtime/egress/address-policy.ts';
import { parseAddress } from '../../../runtime/egress/address.ts';
import { randomBits } from './support/random.ts';
import { dotted, grouped } from './support/spell.ts';

/**
 * What may not be dialled, written down a second time from the policy, and looked up by Node's own `BlockList`: neither
 * its reader of addresses nor its comparison is the product's.
 */
const refused4 = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32`;
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

/** Both ends of each range, what lies just outside of them, and addresses within; and as many from anywhere. */
function* cases(family: 4 | 6, ranges: string, each: number): Generator<string> {
  const width = widths[family];
  const random = randomBits(width);
  const all = 1n << BigInt(width);
  for (const [net, prefix] of rangesOf(ranges)) {
    const first = parseAddress(net)?.bits ?? 0n;
    const size = 1n << BigInt(width - prefix);
    const edges = [
      first - 1n,
      first,
      first + 1n,
      first + size - 2n,
      first + size - 1n,
      first + size,
    ];
    for (const bits of edges) {
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
  test(`of thousands of IPv${family} addresses, those are public that another reading of the policy says`, (t) => {
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
