import { createHash, randomBytes } from 'node:crypto';
import test from 'ava';
import { createSealer, hashApiKey, newApiKey, newSigningSecret } from '../../runtime/secrets.ts';

const key = randomBytes(32).toString('hex');
const purpose = 'channel/1/credentials';

test('any sealed value opens with the same key and purpose', (t) => {
  const sealer = createSealer(key);
  for (const secret of ['', 'token', '{"a":"ü 😀 \u2028"}', 'x'.repeat(100_000)]) {
    t.is(sealer.open(sealer.seal(secret, purpose), purpose), secret);
    t.is(createSealer(key.toUpperCase()).open(sealer.seal(secret, purpose), purpose), secret);
  }
});

test('the same secret looks different each time, and is never visible', (t) => {
  const sealer = createSealer(key);
  const sealed = Array.from({ length: 100 }, () => sealer.seal('my-token', purpose));
  t.is(new Set(sealed).size, 100);
  const nonces = sealed.map((text) => text.split('.')[2]);
  t.is(new Set(nonces).size, 100);
  t.false(sealed.some((text) => text.includes('my-token') || text.includes(btoa('my-token'))));
});

test('another key cannot open a secret, and the message contains neither key nor secret', (t) => {
  const other = randomBytes(32).toString('hex');
  const sealed = createSealer(key).seal('my-token', purpose);
  const error = t.throws(() => createSealer(other).open(sealed, purpose), {
    message: /another SECRET_KEY/v,
  });
  t.false([key, other, 'my-token'].some((word) => error?.message.includes(word)));
});

test('a derived key is the same in every process, and differs by purpose and installation', (t) => {
  const hex = (sealer: ReturnType<typeof createSealer>, of: string) =>
    Buffer.from(sealer.derive(of, 48)).toString('hex');
  const first = hex(createSealer(key), 'a');
  t.is(first.length, 96);
  t.is(hex(createSealer(key.toUpperCase()), 'a'), first);
  t.not(hex(createSealer(key), 'b'), first);
  t.not(hex(createSealer(randomBytes(32).toString('hex')), 'a'), first);
  t.false(first.includes(key));
});

test('a secret of one row cannot be opened as another row’s', (t) => {
  const sealer = createSealer(key);
  const sealed = sealer.seal('my-token', purpose);
  for (const other of ['channel/2/credentials', 'channel/1/session', '', `${purpose} `]) {
    t.throws(() => sealer.open(sealed, other), undefined, other);
  }
});

test('a changed byte in any place is noticed', (t) => {
  const sealer = createSealer(key);
  const parts = sealer.seal('my-token', purpose).split('.');
  for (const index of [2, 3, 4]) {
    const bytes = Buffer.from(parts[index] ?? '', 'base64url');
    for (let place = 0; place < bytes.length; place += 1) {
      const changed = Buffer.from(bytes);
      changed[place] = (changed[place] ?? 0) ^ 1;
      const text = parts.with(index, changed.toString('base64url')).join('.');
      t.throws(() => sealer.open(text, purpose), undefined, `byte ${place} of part ${index}`);
    }
  }
});

test('a shortened tag, a missing part or another text does not open', (t) => {
  const sealer = createSealer(key);
  const parts = sealer.seal('my-token', purpose).split('.');
  const shortTag = Buffer.from(parts[3] ?? '', 'base64url').subarray(0, 4);
  const broken = [
    parts.with(3, shortTag.toString('base64url')).join('.'),
    parts.with(3, '').join('.'),
    parts.slice(0, 4).join('.'),
    parts.with(0, 'v2').join('.'),
    parts.with(1, 'deadbeef').join('.'),
    '',
    'my-token',
    '....',
  ];
  for (const text of broken) {
    t.throws(() => sealer.open(text, purpose), undefined, text);
  }
});

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

test('a key is stored as its SHA-256', (t) => {
  const apiKey = newApiKey();
  t.is(hashApiKey(apiKey), createHash('sha256').update(apiKey).digest('hex'));
  t.not(hashApiKey(apiKey), hashApiKey(apiKey.slice('svc_live_'.length)));
});
