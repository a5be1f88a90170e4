import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createSealer } from '../../runtime/sealer.ts';

const key = randomBytes(32).toString('hex');
const purpose = 'channel/1/credentials';

test('what was sealed opens under the same key and purpose, whatever it is', (t) => {
  const sealer = createSealer(key);
  for (const secret of ['', 'token', '{"a":"ü 😀 \u2028"}', 'x'.repeat(100_000)]) {
    t.is(sealer.open(sealer.seal(secret, purpose), purpose), secret);
    t.is(createSealer(key.toUpperCase()).open(sealer.seal(secret, purpose), purpose), secret);
  }
});

test('the same secret never looks the same twice, and never shows', (t) => {
  const sealer = createSealer(key);
  const sealed = Array.from({ length: 100 }, () => sealer.seal('my-token', purpose));
  t.is(new Set(sealed).size, 100);
  const nonces = sealed.map((text) => text.split('.')[2]);
  t.is(new Set(nonces).size, 100);
  t.false(sealed.some((text) => text.includes('my-token') || text.includes(btoa('my-token'))));
});

test('another key opens nothing, and the message names neither key nor secret', (t) => {
  const other = randomBytes(32).toString('hex');
  const sealed = createSealer(key).seal('my-token', purpose);
  const error = t.throws(() => createSealer(other).open(sealed, purpose), {
    message: /another SECRET_KEY/v,
  });
  t.false([key, other, 'my-token'].some((word) => error?.message.includes(word)));
});

test('a secret of one row cannot be opened as another row’s', (t) => {
  const sealer = createSealer(key);
  const sealed = sealer.seal('my-token', purpose);
  for (const other of ['channel/2/credentials', 'channel/1/session', '', `${purpose} `]) {
    t.throws(() => sealer.open(sealed, other), undefined, other);
  }
});

test('a changed byte anywhere is noticed', (t) => {
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

test('a shortened tag, a missing part or another text is not opened', (t) => {
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
