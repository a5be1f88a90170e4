import test from 'ava';
import { parseAllowList } from '../../../runtime/egress/allow-list.ts';
import { checkDestination } from '../../../runtime/egress/check-url.ts';
import { dns, noDns } from './support/egress.ts';
import { privateAnswers } from './support/urls.ts';

const url = 'https://hook.example.com/';
const notPublic = 'The host of the URL does not lead to a public address.';

for (const [id, answers] of Object.entries(privateAnswers)) {
  test(`${id}: a name that leads to ${answers.join(' and ')} is refused`, async (t) => {
    const resolve = dns({ 'hook.example.com': answers });

    t.is(await checkDestination(url, { resolve, allow: [] }), notPublic);
  });
}

test('R69: a name with more than 64 addresses is refused', async (t) => {
  const many = Array.from({ length: 65 }, (_, index) => `93.184.216.${index}`);

  t.is(
    await checkDestination(url, { resolve: async () => many, allow: [] }),
    'The host of the URL has too many addresses.',
  );
  t.is(await checkDestination(url, { resolve: async () => many.slice(1), allow: [] }), null);
});

test('A18: a name with nothing but a public IPv6 address is accepted', async (t) => {
  const resolve = dns({ 'hook.example.com': ['2606:4700:4700::1111'] });

  t.is(await checkDestination(url, { resolve, allow: [] }), null);
});

test('A19: a name that cannot be resolved yet is accepted', async (t) => {
  t.is(await checkDestination(url, { resolve: dns({}), allow: [] }), null);
  t.is(await checkDestination(url, { resolve: noDns, allow: [] }), null);
});

test('a name server that does not answer holds nobody up for more than a few seconds', async (t) => {
  const startedMs = performance.now();

  t.is(await checkDestination(url, { resolve: () => new Promise(() => {}), allow: [] }), null);
  t.true(performance.now() - startedMs < 9000);
});

test('what its text refuses, and an address in it, asks no DNS', async (t) => {
  t.not(await checkDestination('https://metadata/', { resolve: noDns, allow: [] }), null);
  t.not(await checkDestination('https://10.0.0.1/', { resolve: noDns, allow: [] }), null);
  t.is(await checkDestination('https://93.184.216.34/', { resolve: noDns, allow: [] }), null);
});

test('plain http and local names are open when all of their addresses are allowed', async (t) => {
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

test('localhost is the loopback address that the operator allows, whatever DNS would say', async (t) => {
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
