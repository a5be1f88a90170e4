import test from 'ava';
import { parseAddress, isAllowed, parseAllowList } from '../../../runtime/egress/addresses.ts';
import { checkDestination, checkUrl } from '../../../runtime/egress/destination.ts';
import { normalUrl, parseUrl } from '../../../runtime/egress/target.ts';
import { dns, noDns, turns } from './support/egress.ts';
import { stopClock } from './support/silent-servers.ts';
import { acceptedUrls, normalForms, refusedUrls } from './support/urls.ts';

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

test('an entry allows no other port, address or family', (t) => {
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

test('an empty entry in a list is an error', (t) => {
  t.throws(() => parseAllowList('127.0.0.1/32:80,,127.0.0.1/32:81'));
  t.throws(() => parseAllowList('127.0.0.1/32:80,'));
});

for (const [id, urls] of Object.entries(refusedUrls)) {
  test(`${id} is refused with a sentence`, (t) => {
    for (const url of urls) {
      t.regex(checkUrl(url, { allow: [] }) ?? 'accepted', /^[A-Z].+\.$/v, url);
    }
  });
}

for (const [id, urls] of Object.entries(acceptedUrls)) {
  test(`${id} is accepted`, (t) => {
    for (const url of urls) {
      t.is(checkUrl(url, { allow: [] }), null, url);
    }
  });
}

test('the reason says what is wrong with the URL', (t) => {
  t.is(checkUrl('http://example.com/', { allow: [] }), 'The URL does not begin with https://.');
  t.is(
    checkUrl('https://10.0.0.1/', { allow: [] }),
    'The host of the URL does not lead to a public address.',
  );
  t.is(
    checkUrl('https://example.com:22/', { allow: [] }),
    'Port 22 is not allowed. Use 443 or 8443.',
  );
  t.is(checkUrl('https://postgres/', { allow: [] }), 'The host of the URL is not a public name.');
});

test('a refused local address names the setting that opens it, and any other does not', (t) => {
  const judge = (url: string) => checkUrl(url, { allow: [], setting: 'THE_SETTING' });
  for (const [url, opened] of [
    ['http://localhost:3000/', '127.0.0.1/32:3000'],
    ['https://127.0.0.1/', '127.0.0.1/32:443'],
    ['http://192.168.1.5/', '192.168.1.5/32:80'],
    ['http://[::1]:9000/', '[::1]/128:9000'],
  ] as const) {
    const advice = ` In development, the operator can allow it with THE_SETTING=${opened}.`;
    t.true(judge(url)?.endsWith(advice), `${url}: ${judge(url)}`);
    t.is(checkUrl(url, { allow: parseAllowList(opened), setting: 'THE_SETTING' }), null);
  }

  for (const url of ['http://8.8.8.8/', 'https://169.254.169.254/', 'http://example.com/']) {
    t.false(judge(url)?.includes('THE_SETTING'), url);
  }
});

test('an address that the operator allows is open at its port, also for plain http', (t) => {
  const allow = parseAllowList('127.0.0.1/32:8080,10.1.0.0/16:22,[::1]/128:9000');

  t.is(checkUrl('http://127.0.0.1:8080/', { allow }), null);
  t.is(checkUrl('https://127.0.0.1:8080/', { allow }), null);
  t.is(checkUrl('http://2130706433:8080/', { allow }), null);
  t.is(checkUrl('http://10.1.200.3:22/', { allow }), null);
  t.is(checkUrl('http://[::1]:9000/', { allow }), null);
});

test('an allowed address opens no other address', (t) => {
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
    t.not(checkUrl(url, { allow }), null, url);
  }
  t.is(checkUrl('http://10.0.0.5/', { allow }), null);
});

test('a name is resolved first if it may lead to an allowed address', (t) => {
  const allow = parseAllowList('10.0.0.5/32:3000');

  t.is(checkUrl('http://mastodon.internal:3000/', { allow }), null);
  t.is(checkUrl('http://localhost:3000/', { allow }), null);
  t.not(checkUrl('http://mastodon.internal:3001/', { allow }), null);
  t.not(checkUrl('https://mastodon.internal/', { allow }), null);
});

test('a URL is stored in its normal form', (t) => {
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

for (const [id, forms] of Object.entries(normalForms)) {
  test(`${id} is stored in its normal form`, (t) => {
    for (const [typed, kept] of Object.entries(forms)) {
      t.is(normalUrl(typed), kept, typed);
    }
  });
}

const hook = 'https://hook.example.com/';

test('R69: a name with more than 64 addresses is refused', async (t) => {
  const many = Array.from({ length: 65 }, (_, index) => `93.184.216.${index}`);

  t.is(
    await checkDestination(hook, { resolve: async () => many, allow: [] }),
    'The host of the URL has too many addresses.',
  );
  t.is(await checkDestination(hook, { resolve: async () => many.slice(1), allow: [] }), null);
});

test('A18: a name with only a public IPv6 address is accepted', async (t) => {
  const resolve = dns({ 'hook.example.com': ['2606:4700:4700::1111'] });

  t.is(await checkDestination(hook, { resolve, allow: [] }), null);
});

test('A19: a name that does not resolve yet is accepted', async (t) => {
  t.is(await checkDestination(hook, { resolve: dns({}), allow: [] }), null);
  t.is(await checkDestination(hook, { resolve: noDns, allow: [] }), null);
});

test.serial(
  'a check waits only a few seconds for a name server that does not answer',
  async (t) => {
    const { pass } = stopClock(t);
    const asked = Promise.withResolvers<void>();
    const resolve = () => (asked.resolve(), new Promise<never>(() => {}));
    const outcome = checkDestination(hook, { resolve, allow: [] });
    await asked.promise;

    pass(4999);
    t.is(await Promise.race([outcome, turns()]), undefined);
    pass(1);
    t.is(await outcome, null);
  },
);

test('a refused text and a literal address need no DNS lookup', async (t) => {
  t.not(await checkDestination('https://metadata/', { resolve: noDns, allow: [] }), null);
  t.not(await checkDestination('https://10.0.0.1/', { resolve: noDns, allow: [] }), null);
  t.is(await checkDestination('https://93.184.216.34/', { resolve: noDns, allow: [] }), null);
});

test('plain http and local names are open if all their addresses are allowed', async (t) => {
  const allow = parseAllowList('10.0.0.0/24:3000');
  const check = (typed: string, answers: readonly string[]) =>
    checkDestination(typed, { resolve: async () => answers, allow });

  t.is(await check('http://mastodon.internal:3000/', ['10.0.0.5']), null);
  t.is(await check('https://mastodon:3000/', ['10.0.0.5', '10.0.0.6']), null);
  t.is(await check('https://hook.example.com:3000/', ['10.0.0.5', '93.184.216.34']), null);

  t.not(await check('http://mastodon.internal:3000/', ['10.0.0.5', '10.0.1.5']), null);
  t.not(await check('http://hook.example.com:3000/', ['10.0.0.5', '93.184.216.34']), null);
  t.not(await check('http://hook.example.com:3000/', ['93.184.216.34']), null);
  t.not(await check('http://hook.example.com:3000/', []), null);
});

test('localhost is the loopback address that the operator allows, whatever DNS says', async (t) => {
  const cases = [
    { typed: 'http://localhost:3000/', list: '127.0.0.1/32:3000', isOpen: true },
    { typed: 'http://localhost.:3000/', list: '[::1]/128:3000', isOpen: true },
    { typed: 'http://localhost:3001/', list: '127.0.0.1/32:3000', isOpen: false },
    { typed: 'http://localhost:3000/', list: '10.0.0.5/32:3000', isOpen: false },
  ];

  for (const { typed, list, isOpen } of cases) {
    const reason = await checkDestination(typed, { resolve: noDns, allow: parseAllowList(list) });
    t.is(reason === null, isOpen, `${typed} with ${list}`);
  }
});
