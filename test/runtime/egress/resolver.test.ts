import test from 'ava';
import { createResolver } from '../../../runtime/egress/resolver.ts';
import { dnsServer, type DnsAnswer } from './support/dns-server.ts';

test('a name has the addresses of both families, IPv4 first', async (t) => {
  const server = await dnsServer(t, { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'] });
  const resolve = createResolver({ servers: [server] });

  t.deepEqual(await resolve('hook.example.com'), ['192.0.2.1', '192.0.2.2', '2001:db8::1']);
});

const none: readonly DnsAnswer[] = ['NXDOMAIN', []];
for (const answer of none) {
  test(`a name without addresses (${answer}) has none`, async (t) => {
    const server = await dnsServer(t, { A: answer, AAAA: answer });

    t.deepEqual(await createResolver({ servers: [server] })('hook.example.com'), []);
  });
}

test('one family without addresses leaves the other', async (t) => {
  const server = await dnsServer(t, { A: 'NXDOMAIN', AAAA: ['2001:db8::1'] });

  t.deepEqual(await createResolver({ servers: [server] })('a.example.com'), ['2001:db8::1']);
});

const broken: readonly DnsAnswer[] = ['SERVFAIL', 'silence'];
for (const answer of broken) {
  test(`one family that fails (${answer}) fails the whole`, async (t) => {
    const server = await dnsServer(t, { A: ['192.0.2.1'], AAAA: answer });
    const resolve = createResolver({ servers: [server], timeoutMs: 100 });

    await t.throwsAsync(resolve('hook.example.com'));
  });
}
