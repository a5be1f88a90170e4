import { createHash } from 'node:crypto';
import test from 'ava';
import { hashApiKey, newApiKey, newSigningSecret } from '../../runtime/token.ts';

test('keys and secrets have their prefix and 32 characters, and use every letter and digit', (t) => {
  for (const [make, shape] of [
    [newApiKey, /^svc_live_[0-9A-Za-z]{32}$/v],
    [newSigningSecret, /^whsec_[0-9A-Za-z]{32}$/v],
  ] as const) {
    const made = Array.from({ length: 500 }, make);
    t.true(made.every((token) => shape.test(token)));
    t.is(new Set(made).size, 500);
    const letters = new Set(made.map((token) => token.split('_').at(-1)).join(''));
    t.is(letters.size, 62);
  }
});

test('a key is kept as the SHA-256 of the whole of it', (t) => {
  const key = newApiKey();
  t.is(hashApiKey(key), createHash('sha256').update(key).digest('hex'));
  t.not(hashApiKey(key), hashApiKey(key.slice('svc_live_'.length)));
});
