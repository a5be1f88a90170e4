import test from 'ava';
import { checkUrl } from '../../../runtime/egress/check-url.ts';
import { normalUrl } from '../../../runtime/egress/normal-url.ts';
import { acceptedUrls, normalForms } from './support/urls.ts';

for (const [id, forms] of Object.entries(normalForms)) {
  test(`${id} is kept in its normal form`, (t) => {
    for (const [typed, kept] of Object.entries(forms)) {
      t.is(normalUrl(typed), kept, typed);
    }
  });
}

test('a normal form is one of itself, and leads to the same place', (t) => {
  for (const url of Object.values(acceptedUrls).flat()) {
    const normal = normalUrl(url);
    t.is(normalUrl(normal), normal);
    t.is(checkUrl(normal, []), null, normal);
    const [typed, kept] = [new URL(url), new URL(normal)];
    t.is(kept.hostname, typed.hostname.replace(/\.$/v, ''));
    t.is(kept.port, typed.port);
    t.is(kept.pathname + kept.search, typed.pathname + typed.search);
    t.is(kept.hash, '');
  }
});

test('a URL of another scheme or with a space has no normal form', (t) => {
  for (const url of [
    'ftp://example.com/',
    'https://exam ple.com/',
    '',
    'https://a:b@example.com/',
  ]) {
    t.throws(() => normalUrl(url), { instanceOf: TypeError }, url);
  }
});

test('a host that is longer in punycode than as it was typed counts at its full length', (t) => {
  const host = `${'ü'.repeat(40)}.example.com`;
  const [start, end] = [`https://${host}/`, 'x'];
  const fits = 2048 - normalUrl(start).length;

  t.is(checkUrl(start + end.repeat(fits), []), null);
  t.is(checkUrl(start + end.repeat(fits + 1), []), 'The URL is longer than 2048 characters.');
});
