import test from 'ava';
import { parseAddress } from '../../../runtime/egress/address.ts';
import { isAllowed, parseAllowList } from '../../../runtime/egress/allow-list.ts';

const allows = (list: string, address: string, port: number): boolean => {
  const parsed = parseAddress(address);
  return parsed !== null && isAllowed(parseAllowList(list), parsed, port);
};

test('an empty list allows nothing', (t) => {
  t.deepEqual(parseAllowList(''), []);
  t.deepEqual(parseAllowList('  '), []);
  t.false(allows('', '127.0.0.1', 80));
});

test('an entry allows its addresses at its port', (t) => {
  const list = '127.0.0.1/32:8080, [::1]/128:9000 ,10.0.0.0/8:443,[fd00::]/8:443';

  t.true(allows(list, '127.0.0.1', 8080));
  t.true(allows(list, '::1', 9000));
  t.true(allows(list, '10.255.0.1', 443));
  t.true(allows(list, 'fdff::1', 443));
});

test('an entry allows neither other ports, nor other addresses, nor another family', (t) => {
  const list = '127.0.0.1/32:8080,[::1]/128:9000,[::]/0:1';

  t.false(allows(list, '127.0.0.1', 9000));
  t.false(allows(list, '127.0.0.2', 8080));
  t.false(allows(list, '::ffff:127.0.0.1', 8080));
  t.false(allows(list, '127.0.0.1', 1));
  t.true(allows(list, '::ffff:127.0.0.1', 1));
});

for (const entry of [
  '127.0.0.1',
  '127.0.0.1:8080',
  '127.0.0.1/32',
  '127.0.0.1/33:80',
  '127.0.0.1/032:80',
  '127.0.0.1/32:0',
  '127.0.0.1/32:65536',
  '127.0.0.1/32:*',
  '127.1/32:80',
  '10.0.0.5/8:80',
  '[127.0.0.1]/32:80',
  '::1/128:80',
  '[::1]:80',
  '[::1]/129:80',
  '[fe80::1%eth0]/128:80',
  'localhost/32:80',
  'http://127.0.0.1/32:80',
]) {
  test(`the entry "${entry}" is an error that names it`, (t) => {
    t.true(
      t
        .throws(() => parseAllowList(`10.0.0.0/8:443,${entry}`))
        ?.message.startsWith(`"${entry}" is not`),
    );
  });
}

test('an empty place in a list is an error', (t) => {
  t.throws(() => parseAllowList('127.0.0.1/32:80,,127.0.0.1/32:81'));
  t.throws(() => parseAllowList('127.0.0.1/32:80,'));
});
