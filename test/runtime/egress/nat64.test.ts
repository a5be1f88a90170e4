import test, { type ExecutionContext } from 'ava';
import { parseAllowList, parseNat64Prefixes } from '../../../runtime/egress/addresses.ts';
import { checkDestination, checkUrl } from '../../../runtime/egress/destination.ts';
import { dns, failure, post, recordingConnector, testEgress } from './support/egress.ts';
import { randomBits } from './support/random.ts';
import { dotted } from './support/spell.ts';

const hook = 'https://hook.example.com/';
const known = '64:ff9b::/96';
const own = '2600:1f18:64::/96';

/** The result of a request to a name with these addresses, and the addresses that were dialled for it. */
async function outcome(t: ExecutionContext, addresses: readonly string[], prefixes: string) {
  const resolve = dns({ 'hook.example.com': addresses });
  const { dialled, connect } = recordingConnector();
  const nat64 = parseNat64Prefixes(prefixes);
  const egress = testEgress(t, { connect, resolve, nat64 });
  const refusal = await checkDestination(hook, { resolve, allow: [], nat64 });
  return { code: await failure(t, egress.request(post(hook))), dialled, isTaken: refusal === null };
}

test('behind DNS64 an IPv4-only receiver is reached by its synthesised address', async (t) => {
  // 8.8.8.8, untranslated and translated.
  const addresses = ['8.8.8.8', '64:ff9b::808:808'];
  const told = await outcome(t, addresses, known);
  t.deepEqual(told, { code: 'connection_refused', dialled: addresses, isTaken: true });

  const unknownPrefix = await outcome(t, addresses, '');
  t.deepEqual(unknownPrefix, { code: 'blocked_destination', dialled: [], isTaken: false });
});

test('an address that the operator’s own translator maps to an internal one is refused, although it looks public', async (t) => {
  for (const inside of ['a00:5', '7f00:1', 'a9fe:a9fe', 'c0a8:1']) {
    for (const prefix of ['2600:1f18:64::', '64:ff9b::']) {
      const told = await outcome(t, [`${prefix}${inside}`], `${known}, ${own}`);
      t.deepEqual(told, { code: 'blocked_destination', dialled: [], isTaken: false });
    }
  }
});

test('every address behind NAT64 gets the verdict of its IPv4 address, and other addresses keep theirs', (t) => {
  const random = randomBits(64);
  const nat64 = parseNat64Prefixes(own);
  let refused = 0;
  for (let count = 0; count < 2000; count += 1) {
    const bits = random(32);
    const tail = `${(bits >> 16n).toString(16)}:${(bits & 0xffffn).toString(16)}`;
    const bare = checkUrl(`https://${dotted(bits)}/`, { allow: [] });
    t.is(checkUrl(`https://[2600:1f18:64::${tail}]/`, { allow: [], nat64 }), bare, tail);
    t.is(checkUrl(`https://[2600:1f18:65::${tail}]/`, { allow: [], nat64 }), null, tail);
    refused += bare === null ? 0 : 1;
  }

  t.true(refused > 100 && refused < 1900, String(refused));
});

test('an allowed address is allowed behind NAT64 too', (t) => {
  const allow = parseAllowList('10.0.0.5/32:443');
  const nat64 = parseNat64Prefixes(known);
  t.is(checkUrl('https://[64:ff9b::a00:5]/', { allow, nat64 }), null);
  t.not(checkUrl('https://[64:ff9b::a00:6]/', { allow, nat64 }), null);
});

test('an error names an invalid prefix, or one with another length', (t) => {
  for (const wrong of ['64:ff9b::/64', '64:ff9b:1::/48', '10.0.0.0/8', '64:ff9b::1/96', 'nat64']) {
    t.throws(() => parseNat64Prefixes(`${known},${wrong}`), { message: new RegExp(wrong, 'v') });
  }
  t.deepEqual(parseNat64Prefixes(' '), []);
});
