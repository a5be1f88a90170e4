import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { buildConnector } from 'undici';
import { checkDestination } from '../../../runtime/egress/check-url.ts';
import { createResolver } from '../../../runtime/egress/resolver.ts';
import { dnsServer, type DnsAnswers } from './support/dns-server.ts';
import { failure, get, post, recordingConnector, testEgress } from './support/egress.ts';
import { randomBits } from './support/random.ts';
import { httpServer, rawServer, answering, okay } from './support/servers.ts';

const url = 'https://hook.example.com/';
const open = '93.184.216.34';

/** A way out that asks a real name server with these answers, and keeps what it would dial. */
async function world(t: ExecutionContext, answers: DnsAnswers) {
  const resolve = createResolver({ servers: [await dnsServer(t, answers)] });
  const { dialled, connect } = recordingConnector();
  const egress = testEgress(t, { connect, resolve });
  const send = () => failure(t, egress.request(post(url)));
  return { resolve, dialled, send };
}

test('R61: a name that turns private between the check and the connection is not dialled', async (t) => {
  let address = open;
  const { resolve, dialled, send } = await world(t, ({ type }) => (type === 'A' ? [address] : []));

  t.is(await checkDestination(url, { resolve, allow: [] }), null);
  address = '127.0.0.1';
  t.is(await send(), 'blocked_destination');
  t.deepEqual(dialled, []);
});

test('R70: a name that turns private between two attempts is dialled for the first one only', async (t) => {
  let address = open;
  const { dialled, send } = await world(t, ({ type }) => (type === 'A' ? [address] : []));

  t.is(await send(), 'connection_refused');
  address = '10.0.0.1';
  t.is(await send(), 'blocked_destination');
  address = open;
  t.is(await send(), 'connection_refused');
  t.deepEqual(dialled, [open, open]);
});

test('a name whose answers flip with each query never gets a connection to the private address', async (t) => {
  let queries = 0;
  const { dialled, send } = await world(t, ({ type }) =>
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

test('whatever mixture of both families a name server makes up, only public addresses are dialled', async (t) => {
  const random = randomBits(40);
  const pools = {
    A: [open, '8.8.8.8', '127.0.0.1', '169.254.169.254', '10.0.0.5'],
    AAAA: ['2606:4700:4700::1111', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', 'fd00::1'],
  } as const;
  const { dialled, send } = await world(t, ({ type }) =>
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
  test(`${name}: such answers of a name server are refused at once and at the connection`, async (t) => {
    const { resolve, dialled, send } = await world(t, answers);

    t.not(await checkDestination(url, { resolve, allow: [] }), null);
    t.is(await send(), 'blocked_destination');
    t.deepEqual(dialled, []);
  });
}

test('a name that stands for another one, which is public, is dialled there', async (t) => {
  const { dialled, send } = await world(t, { A: ['cdn.example.net', open], AAAA: [] });

  t.is(await send(), 'connection_refused');
  t.deepEqual(dialled, [open]);
});

test('with real sockets too, what is connected to is always an address that was judged', async (t) => {
  const server = await httpServer(t, (_request, response) => {
    response.setHeader('connection', 'close').end();
  });
  let queries = 0;
  const name = await dnsServer(t, ({ type }) =>
    type === 'A' ? [queries++ % 3 ? '127.0.0.2' : '127.0.0.1'] : [],
  );
  const remotes: (string | undefined)[] = [];
  const dial = buildConnector({ allowH2: false });
  const egress = testEgress(t, {
    allow: `127.0.0.1/32:${server.port}`,
    resolve: createResolver({ servers: [name] }),
    connect: (options, callback) => {
      dial(options, (...result) => {
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

test('R70: a connection that was left idle is gone, and the name is asked for again', async (t) => {
  t.timeout(30_000);
  const closed = Promise.withResolvers<unknown>();
  const server = await rawServer(t, (socket) => {
    void once(socket, 'close').then(closed.resolve);
    answering(okay)(socket);
  });
  let address = '127.0.0.1';
  const name = await dnsServer(t, ({ type }) => (type === 'A' ? [address] : []));
  const egress = testEgress(t, {
    allow: `127.0.0.1/32:${server.port}`,
    resolve: createResolver({ servers: [name] }),
  });
  const request = get(`http://hook.example.com:${server.port}/`);

  t.like(await egress.request(request), { status: 200 });
  address = '10.0.0.1';
  await closed.promise;
  t.is(await failure(t, egress.request(request)), 'blocked_destination');
  t.is(server.connections, 1);
});
