import { readFile } from 'node:fs/promises';
import test from 'ava';
import { createResolver } from '../../../runtime/egress/resolver.ts';
import { dnsServer } from './support/dns-server.ts';
import { failure, get, post, testEgress } from './support/egress.ts';
import { httpServer } from './support/servers.ts';

test('fifty receivers whose name server is silent hold up neither a file nor another receiver', async (t) => {
  t.timeout(30_000);
  const server = await httpServer(t, (_request, response) => response.end());
  const asked = new Set<string>();
  const allAsked = Promise.withResolvers<void>();
  const name = await dnsServer(t, ({ name: host, type }) => {
    if (host === 'quick.example.com') {
      return type === 'A' ? ['127.0.0.1'] : [];
    }

    asked.add(host);
    if (asked.size === 50) {
      allAsked.resolve();
    }
    return 'silence';
  });
  const egress = testEgress(t, {
    allow: `127.0.0.1/32:${server.port}`,
    resolve: createResolver({ servers: [name] }),
  });
  const stop = new AbortController();
  let over = 0;
  const slow = Array.from({ length: 50 }, (_, index) => {
    const url = `https://slow-${index}.example.com/`;
    const answer = egress.request(post(url, { timeoutMs: 60_000, signal: stop.signal }));
    return failure(t, answer).finally(() => (over += 1));
  });

  await allAsked.promise;
  const [file, answer] = await Promise.all([
    readFile(new URL(import.meta.url)),
    egress.request(get(`http://quick.example.com:${server.port}/`)),
  ]);

  t.true(file.length > 0);
  t.is(answer.status, 200);
  t.is(over, 0);

  stop.abort();
  t.deepEqual([...new Set(await Promise.all(slow))], ['timeout']);
});

test('a name server that stays silent ends in a DNS error, certainly not sent', async (t) => {
  const name = await dnsServer(t, () => 'silence');
  const resolve = createResolver({ servers: [name], timeoutMs: 100 });

  const answer = testEgress(t, { resolve }).request(post('https://slow.example.com/'));
  t.is(await failure(t, answer), 'dns_error');
});
