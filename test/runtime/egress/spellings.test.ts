import test from 'ava';
import { isPublicAddress } from '../../../runtime/egress/address-policy.ts';
import { parseAddress } from '../../../runtime/egress/address.ts';
import { checkUrl } from '../../../runtime/egress/check-url.ts';
import { randomBits } from './support/random.ts';
import { dotted, grouped, spellingsOf, withDottedTail, wrappers } from './support/spell.ts';

const isAccepted = (host: string): boolean => checkUrl(`https://${host}/`, []) === null;

/** First octets of what is not public, which chance alone would seldom meet. */
const privateStarts = [0n, 10n, 127n, 224n, 255n];
const privatePrefixes = [0xa9fen, 0xc0a8n, 0xac10n, 0x6440n, 0xc612n];

/** Addresses of which half are not public. */
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

test('every spelling of an IPv4 address in a URL gets the verdict of the address', (t) => {
  const [laxer, stricter]: string[][] = [[], []];
  let [judged, refused] = [0, 0];
  for (const bits of addresses(5, 200)) {
    const isPublic = isAccepted(dotted(bits));
    refused += isPublic ? 0 : 1;
    for (const spelling of spellingsOf(bits)) {
      judged += 1;
      if (isAccepted(spelling) !== isPublic) {
        (isPublic ? stricter : laxer)?.push(`${spelling} for ${dotted(bits)}`);
      }
    }
  }

  t.deepEqual({ laxer, stricter }, { laxer: [], stricter: [] });
  t.true(judged > 5000 && refused > 50 && refused < 150);
});

test('no way to wrap an IPv4 address in IPv6 makes it public', (t) => {
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

test('no IPv6 address outside 2000::/3 is public', (t) => {
  const random = randomBits(3);
  const accepted: string[] = [];
  let outside = 0;
  for (let count = 0; count < 6000; count += 1) {
    const bits = random(128);
    if (bits >> 125n !== 1n) {
      outside += 1;
      if (isAccepted(`[${grouped(bits)}]`)) {
        accepted.push(grouped(bits));
      }
    }
  }

  t.deepEqual(accepted, []);
  t.true(outside > 4000);
  t.false(isAccepted('[1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]'));
  t.false(isAccepted('[4000::]'));
});

test('what a URL accepts by its address, the address alone is public by too', (t) => {
  const random = randomBits(7);
  for (let count = 0; count < 2000; count += 1) {
    const text = count % 2 ? dotted(random(32)) : grouped((1n << 125n) | (random(128) >> 3n));
    const address = parseAddress(text);
    t.is(
      isAccepted(count % 2 ? text : `[${text}]`),
      address !== null && isPublicAddress(address),
      text,
    );
  }
});
