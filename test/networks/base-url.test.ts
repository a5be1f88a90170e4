import test from 'ava';
import { baseUrlOf } from '../../networks/base-url.ts';

test('an address is the same however people write it', (t) => {
  for (const address of ['a.example', 'a.example/', 'https://a.example', 'HTTPS://A.example//']) {
    t.is(baseUrlOf(address), 'https://a.example');
  }
  t.is(baseUrlOf('http://127.0.0.1:3000/mastodon/'), 'http://127.0.0.1:3000/mastodon');
});

test('what is no address of a server is refused, without repeating a password in it', (t) => {
  for (const address of [
    '',
    'https://',
    'a b',
    'https://a.example/?q',
    'https://me:pw@a.example',
  ]) {
    const error = t.throws(() => baseUrlOf(address));
    t.like(error, { code: 'invalid_request' });
    t.false(error?.message.includes('pw'));
  }
});
