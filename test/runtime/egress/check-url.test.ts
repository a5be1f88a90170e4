import test from 'ava';
import { parseAllowList } from '../../../runtime/egress/allow-list.ts';
import { checkUrl } from '../../../runtime/egress/check-url.ts';
import { parseUrl } from '../../../runtime/egress/target.ts';
import { acceptedUrls, refusedUrls } from './support/urls.ts';

for (const [id, urls] of Object.entries(refusedUrls)) {
  test(`${id} is refused with a sentence`, (t) => {
    for (const url of urls) {
      t.regex(checkUrl(url, []) ?? 'accepted', /^[A-Z].+\.$/v, url);
    }
  });
}

for (const [id, urls] of Object.entries(acceptedUrls)) {
  test(`${id} is accepted`, (t) => {
    for (const url of urls) {
      t.is(checkUrl(url, []), null, url);
    }
  });
}

test('the reason says what is wrong with the URL', (t) => {
  t.is(checkUrl('http://example.com/', []), 'The URL does not begin with https://.');
  t.is(checkUrl('https://10.0.0.1/', []), 'The host of the URL does not lead to a public address.');
  t.is(
    checkUrl('https://example.com:22/', []),
    'Requests do not go to port 22; 443 and 8443 are good ones.',
  );
  t.is(checkUrl('https://postgres/', []), 'The host of the URL is not a public name.');
});

test('an address that the operator allows is open at its port, for plain http too', (t) => {
  const allow = parseAllowList('127.0.0.1/32:8080,10.1.0.0/16:22,[::1]/128:9000');

  t.is(checkUrl('http://127.0.0.1:8080/', allow), null);
  t.is(checkUrl('https://127.0.0.1:8080/', allow), null);
  t.is(checkUrl('http://2130706433:8080/', allow), null);
  t.is(checkUrl('http://10.1.200.3:22/', allow), null);
  t.is(checkUrl('http://[::1]:9000/', allow), null);
});

test('an allowed address opens nothing beside it', (t) => {
  const allow = parseAllowList('127.0.0.1/32:8080,[::1]/128:9000,10.0.0.5/32:80');

  for (const url of [
    'http://127.0.0.1:8081/',
    'https://127.0.0.1/',
    'http://127.0.0.2:8080/',
    'http://[::ffff:127.0.0.1]:8080/',
    'http://[::2]:9000/',
    'http://93.184.216.34:8080/',
    'http://user@127.0.0.1:8080/',
    'ftp://127.0.0.1:8080/',
    'http://example.com/\t',
  ]) {
    t.not(checkUrl(url, allow), null, url);
  }
  t.is(checkUrl('http://10.0.0.5/', allow), null);
});

test('a name waits for DNS where only an allowed address can excuse it', (t) => {
  const allow = parseAllowList('10.0.0.5/32:3000');

  t.is(checkUrl('http://mastodon.internal:3000/', allow), null);
  t.is(checkUrl('http://localhost:3000/', allow), null);
  t.not(checkUrl('http://mastodon.internal:3001/', allow), null);
  t.not(checkUrl('https://mastodon.internal/', allow), null);
});

test('a URL is taken in its normal form', (t) => {
  t.like(parseUrl('HTTPS://EXAMPLE.com./Hook?a=1#part'), {
    origin: 'https://example.com:443',
    path: '/Hook?a=1',
    target: { host: 'example.com', port: 443, secure: true },
  });
  t.like(parseUrl('http://bücher.example.com:8080'), {
    origin: 'http://xn--bcher-kva.example.com:8080',
    path: '/',
  });
});
