import test from 'ava';
import { isPublicAddress } from '../../../runtime/egress/address-policy.ts';
import { parseAddress } from '../../../runtime/egress/address.ts';

const isPublic = (text: string): boolean => {
  const address = parseAddress(text);
  if (!address) {
    throw new Error(`${text} is not an address.`);
  }

  return isPublicAddress(address);
};

const edges: readonly (readonly [before: string, first: string, last: string, after: string])[] = [
  ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
  ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
  ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
  ['168.63.129.15', '168.63.129.16', '168.63.129.16', '168.63.129.17'],
  ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
  ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
  ['191.255.255.255', '192.0.0.0', '192.0.0.255', '192.0.1.0'],
  ['192.0.1.255', '192.0.2.0', '192.0.2.255', '192.0.3.0'],
  ['192.88.98.255', '192.88.99.0', '192.88.99.255', '192.88.100.0'],
  ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
  ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
  ['198.51.99.255', '198.51.100.0', '198.51.100.255', '198.51.101.0'],
  ['203.0.112.255', '203.0.113.0', '203.0.113.255', '203.0.114.0'],
  ['223.255.255.255', '224.0.0.0', '255.255.255.255', '1.0.0.0'],
  ['1.0.0.0', '0.0.0.0', '0.255.255.255', '1.0.0.0'],
  ['2001:200::', '2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
  ['2001:db7:ffff::1', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::'],
  ['2001:ffff::1', '2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2003::'],
  ['2620:4f:7fff::1', '2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff', '2620:4f:8001::'],
  ['3ffd::1', '3ffe::', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
  ['3fff:1000::', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
];

for (const [before, first, last, after] of edges) {
  test(`${first} to ${last} is not public, its neighbours are`, (t) => {
    t.true(isPublic(before), before);
    t.false(isPublic(first), first);
    t.false(isPublic(last), last);
    t.true(isPublic(after), after);
  });
}

test('only the plain spellings of an address are read', (t) => {
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
  t.like(parseAddress('::ffff:1.2.3.4'), { family: 6, bits: 0xffff_0102_0304n });
  t.like(parseAddress('2001:DB8:0:0::1'), { text: '2001:db8::1' });
});
