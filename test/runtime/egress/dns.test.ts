import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { buildConnector } from 'undici';
import { checkDestination, createResolver } from '../../../runtime/egress/destination.ts';
import { type DnsAnswer, type DnsAnswers, dnsServer } from './support/dns-server.ts';
import { failure, get, post, recordingConnector, testEgress } from './support/egress.ts';
import { randomBits } from './support/random.ts';
import { answering, httpServer, okay, rawServer } from './support/servers.ts';

const hook = 'https://hook.example.com/';
const open = '93.184.216.34';

/** A resolver with a real name server that gives these answers. Its long timeout prevents repeated queries. */
const resolverWith = async (t: ExecutionContext, answers: DnsAnswers) =>
  createResolver({ servers: [await dnsServer(t, answers)], timeoutMs: 60_000 });

test('a name has the addresses of both families, IPv4 first', async (t) => {
  const answers = { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'] };
  const resolve = await resolverWith(t, answers);

  t.deepEqual(await resolve('hook.example.com'), ['192.0.2.1', '192.0.2.2', '2001:db8::1']);
});

const none: readonly DnsAnswer[] = ['NXDOMAIN', []];
for (const answer of none) {
  test(`a name without addresses (${answer}) has none`, async (t) => {
    const resolve = await resolverWith(t, { A: answer, AAAA: answer });

    t.deepEqual(await resolve('hook.example.com'), []);
  });
}

test('one family without addresses leaves the other', async (t) => {
  const resolve = await resolverWith(t, { A: 'NXDOMAIN', AAAA: ['2001:db8::1'] });

  t.deepEqual(await resolve('a.example.com'), ['2001:db8::1']);
});

const broken: readonly DnsAnswer[] = ['SERVFAIL', 'silence'];
for (const answer of broken) {
  test(`one family that fails (${answer}) fails the lookup`, async (t) => {
    const server = await dnsServer(t, { A: ['192.0.2.1'], AAAA: answer });
    const timeoutMs = answer === 'silence' ? 500 : 60_000;
    const resolve = createResolver({ servers: [server], timeoutMs });

    await t.throwsAsync(resolve('hook.example.com'));
  });
}

/** An egress with a real name server that gives these answers. Records the dialled addresses. */
async function egressWith(t: ExecutionContext, answers: DnsAnswers) {
  const resolve = await resolverWith(t, answers);
  const { dialled, connectTo } = recordingConnector();
  const egress = testEgress(t, { connectTo, resolve });
  const send = () => failure(t, egress.request(post(hook)));
  return { resolve, dialled, send };
}

test('R61: a name that becomes private between the check and the connection is not dialled', async (t) => {
  let address = open;
  const { resolve, dialled, send } = await egressWith(t, ({ type }) =>
    type === 'A' ? [address] : [],
  );

  t.is(await checkDestination(hook, { resolve, allow: [] }), null);
  address = '127.0.0.1';
  t.is(await send(), 'blocked_destination');
  t.deepEqual(dialled, []);
});

test('a name whose answers alternate per query never gets a connection to the private address', async (t) => {
  let queries = 0;
  const { dialled, send } = await egressWith(t, ({ type }) =>
    type === 'A' ? [queries++ % 2 ? '127.0.0.1' : open] : [],
  );
  const codes: string[] = [];
  for (let count = 0; count < 40; count += 1) {
    codes.push(await send());
  }

  t.is(queries, 40);
  t.is(codes.filter((code) => code === 'blocked_destination').length, 20);
  t.deepEqual(
    dialled,
    Array.from({ length: 20 }, () => open),
  );
});

test('for any mixture of both families in DNS answers, only public addresses are dialled', async (t) => {
  const random = randomBits(40);
  const pools = {
    A: [open, '8.8.8.8', '127.0.0.1', '169.254.169.254', '10.0.0.5'],
    AAAA: ['2606:4700:4700::1111', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', 'fd00::1'],
  } as const;
  const { dialled, send } = await egressWith(t, ({ type }) =>
    pools[type].filter(() => random(3) === 0n),
  );
  const codes = new Set<string>();
  for (let count = 0; count < 300; count += 1) {
    codes.add(await send());
  }

  t.deepEqual([...codes].toSorted(), ['blocked_destination', 'connection_refused', 'dns_error']);
  t.deepEqual(
    dialled.filter((address) => ![open, '8.8.8.8', '2606:4700:4700::1111'].includes(address)),
    [],
  );
  t.true(dialled.length > 5);
});

const privateAnswers: Readonly<Record<string, DnsAnswers>> = {
  'R62: a public and a private one': { A: ['8.8.8.8', '127.0.0.1'], AAAA: [] },
  'R63: a public and the IPv6 loopback': { A: ['8.8.8.8'], AAAA: ['::1'] },
  'R64: a mapped one': { A: [], AAAA: ['::ffff:10.0.0.1'] },
  'R65: a compatible one': { A: [], AAAA: ['::7f00:1'] },
  'R66: one behind NAT64': { A: [], AAAA: ['64:ff9b::7f00:1'] },
  'R68: another name, which has a private one': {
    A: ['db.corp.example.net', '10.0.0.7'],
    AAAA: [],
  },
  'R69: 65 public ones': {
    A: Array.from({ length: 65 }, (_, index) => `93.184.216.${index}`),
    AAAA: [],
  },
};
for (const [name, answers] of Object.entries(privateAnswers)) {
  test(`${name}: these DNS answers are refused by the check and at the connection`, async (t) => {
    const { resolve, dialled, send } = await egressWith(t, answers);

    t.not(await checkDestination(hook, { resolve, allow: [] }), null);
    t.is(await send(), 'blocked_destination');
    t.deepEqual(dialled, []);
  });
}

test('an alias of a public name is dialled at that name’s address', async (t) => {
  const { dialled, send } = await egressWith(t, { A: ['cdn.example.net', open], AAAA: [] });

  t.is(await send(), 'connection_refused');
  t.deepEqual(dialled, [open]);
});

test('with real sockets too, every connection goes to an address that was checked', async (t) => {
  const server = await httpServer(t, (_request, response) => {
    response.setHeader('connection', 'close').end();
  });
  let queries = 0;
  const resolve = await resolverWith(t, ({ type }) =>
    type === 'A' ? [queries++ % 3 ? '127.0.0.2' : '127.0.0.1'] : [],
  );
  const remotes: (string | undefined)[] = [];
  const dial = buildConnector({ allowH2: false });
  const egress = testEgress(t, {
    allow: `127.0.0.1/32:${server.port}`,
    resolve,
    connectTo: (addresses) => (options, callback) => {
      dial({ ...options, hostname: addresses[0]?.text ?? '' }, (...result) => {
        remotes.push(result[1]?.remoteAddress);
        callback(...result);
      });
    },
  });
  const request = get(`http://hook.example.com:${server.port}/`);
  const answers: unknown[] = [];
  for (let count = 0; count < 30; count += 1) {
    answers.push(
      await egress.request(request).then(
        ({ status }) => status,
        ({ code }) => code,
      ),
    );
  }

  t.is(answers.filter((answer) => answer === 200).length, 10);
  t.is(answers.filter((answer) => answer === 'blocked_destination').length, 20);
  t.deepEqual(
    remotes,
    Array.from({ length: 10 }, () => '127.0.0.1'),
  );
  t.is(server.connections, 10);
});

test('R70: after an idle connection has closed, the name is resolved again', async (t) => {
  const closed = Promise.withResolvers<unknown>();
  const server = await rawServer(t, (socket) => {
    void once(socket, 'close').then(closed.resolve);
    answering(okay)(socket);
  });
  let address = '127.0.0.1';
  const resolve = await resolverWith(t, ({ type }) => (type === 'A' ? [address] : []));
  const egress = testEgress(t, { allow: `127.0.0.1/32:${server.port}`, resolve });
  const request = get(`http://hook.example.com:${server.port}/`);

  t.like(await egress.request(request), { status: 200 });
  address = '10.0.0.1';
  await closed.promise;
  t.is(await failure(t, egress.request(request)), 'blocked_destination');
  t.is(server.connections, 1);
});

test('fifty receivers with a silent name server delay neither a file nor another receiver', async (t) => {
  const server = await httpServer(t, (_request, response) => response.end());
  const asked = new Set<string>();
  const allAsked = Promise.withResolvers<void>();
  const resolve = await resolverWith(t, ({ name: host, type }) => {
    if (host === 'quick.example.com') {
      return type === 'A' ? ['127.0.0.1'] : [];
    }

    asked.add(host);
    if (asked.size === 50) {
      allAsked.resolve();
    }
    return 'silence';
  });
  const egress = testEgress(t, { allow: `127.0.0.1/32:${server.port}`, resolve });
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

test('a silent name server causes a DNS error, certainly not sent', async (t) => {
  const name = await dnsServer(t, () => 'silence');
  const resolve = createResolver({ servers: [name], timeoutMs: 100 });

  const answer = testEgress(t, { resolve }).request(post('https://slow.example.com/'));
  t.is(await failure(t, answer), 'dns_error');
});
