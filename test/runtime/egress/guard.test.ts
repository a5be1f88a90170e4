import test, { type ExecutionContext } from 'ava';
import { parseAllowList, parseNat64Prefixes } from '../../../runtime/egress/addresses.ts';
import { checkDestination, checkUrl } from '../../../runtime/egress/destination.ts';
import {
  dns,
  failure,
  get,
  noDns,
  post,
  recordingConnector,
  testEgress,
} from './support/egress.ts';
import { answering, okay, rawServer } from './support/servers.ts';
import {
  acceptedUrls,
  otherUrls,
  ownUrl,
  ownUrls,
  privateAnswers,
  refusedUrls,
} from './support/urls.ts';

const hook = 'https://hook.example.com/';

test('no refused URL causes a connection', async (t) => {
  const { dialled, connectTo } = recordingConnector();
  const asked: string[] = [];
  const egress = testEgress(t, {
    connectTo,
    resolve: async (host) => {
      asked.push(host);
      return ['10.0.0.1'];
    },
  });

  for (const [id, urls] of Object.entries(refusedUrls)) {
    for (const refused of id === 'length' ? [] : urls) {
      t.is(await failure(t, egress.request(post(refused))), 'blocked_destination', refused);
    }
  }

  t.deepEqual({ dialled, asked }, { dialled: [], asked: [] });
});

test('the connector allows what the check accepts', async (t) => {
  const { dialled, connectTo } = recordingConnector();
  const egress = testEgress(t, { connectTo, resolve: async () => ['93.184.216.34'] });
  const urls = Object.values(acceptedUrls).flat();

  for (const accepted of urls) {
    t.is(await failure(t, egress.request(post(accepted))), 'connection_refused', accepted);
  }

  t.is(dialled.length, urls.length);
  t.true(dialled.includes('2606:4700:4700::1111'));
});

for (const [id, answers] of Object.entries(privateAnswers)) {
  test(`${id}: a name that leads to ${answers.join(' and ')} is refused, and nothing is dialled`, async (t) => {
    const { dialled, connectTo } = recordingConnector();
    const resolve = dns({ 'hook.example.com': answers });
    const egress = testEgress(t, { connectTo, resolve });

    t.regex(String(await checkDestination(hook, { resolve, allow: [] })), /to a public address/v);
    t.is(await failure(t, egress.request(post(hook))), 'blocked_destination');
    t.deepEqual(dialled, []);
  });
}

test('a socket that is connected to a private address gets no byte', async (t) => {
  const received: Buffer[] = [];
  const server = await rawServer(t, (socket) => socket.on('data', (chunk) => received.push(chunk)));
  const { dialled, connectTo } = recordingConnector(server.port);
  const egress = testEgress(t, { connectTo });

  t.is(await failure(t, egress.request(post('https://93.184.216.34/'))), 'blocked_destination');
  t.deepEqual(dialled, ['93.184.216.34']);
  t.is(server.connections, 1);
  t.deepEqual(received, []);
});

test('an unclear DNS answer is a DNS error, and nothing is dialled', async (t) => {
  const { dialled, connectTo } = recordingConnector();
  for (const resolve of [
    async () => [],
    async () => ['not an address'],
    async () => ['93.184.216.34', 'fe80::1%eth0'],
    async () => {
      throw new Error('SERVFAIL');
    },
  ]) {
    const egress = testEgress(t, { connectTo, resolve });
    t.is(await failure(t, egress.request(post(hook))), 'dns_error');
  }

  t.deepEqual(dialled, []);
});

test('the next address of a name is tried if the first does not answer', async (t) => {
  const { dialled, connectTo } = recordingConnector();
  const addresses = ['93.184.216.34', '2606:4700:4700::1111', '8.8.8.8'];
  const egress = testEgress(t, { connectTo, resolve: async () => addresses });

  t.is(await failure(t, egress.request(post(hook))), 'connection_refused');
  t.deepEqual(dialled, addresses);
});

test('an allowed address is reached by its number, by localhost and by a local name', async (t) => {
  const server = await rawServer(t, answering(okay));
  const { port } = server;
  const resolve = dns({ 'mastodon.internal': ['127.0.0.1'] });
  const egress = testEgress(t, { allow: `127.0.0.1/32:${port}`, resolve });

  for (const host of ['127.0.0.1', 'localhost', 'mastodon.internal']) {
    t.is((await egress.request(get(`http://${host}:${port}/`))).status, 200, host);
  }
});

test('plain http to an address that is not allowed is refused', async (t) => {
  const server = await rawServer(t, answering(okay));
  const egress = testEgress(t, { allow: `127.0.0.1/32:${server.port + 1}` });

  t.is(
    await failure(t, egress.request(get(`http://127.0.0.1:${server.port}/`))),
    'blocked_destination',
  );
  t.is(server.connections, 0);
});

test('a refusal reveals nothing about the internal network', async (t) => {
  const egress = testEgress(t, { resolve: async () => ['10.1.2.3'] });
  const error = await t.throwsAsync(egress.request(post(hook)));

  t.is(error?.message, 'The host of the URL does not lead to a public address.');
});

const itself = 'The URL leads to this service itself.';
const open = async () => ['93.184.216.34'];

test('R56: the service’s own host is refused in every notation and at every port, without DNS', async (t) => {
  for (const url of ownUrls) {
    t.is(await checkDestination(url, { allow: [], resolve: noDns, ownUrl }), itself, url);
  }
});

test('R56: other hosts are not its own, and a service without a public URL has no own host', async (t) => {
  for (const url of otherUrls) {
    t.is(await checkDestination(url, { allow: [], resolve: open, ownUrl }), null, url);
  }
  for (const url of ownUrls) {
    t.is(await checkDestination(url, { allow: [], resolve: open }), null, url);
  }
});

test('R56: the service’s own address is refused in every notation', async (t) => {
  const own = { allow: [], resolve: noDns, ownUrl: 'https://93.184.216.34' };
  for (const url of [
    'https://93.184.216.34/',
    'https://1572395042/h',
    'https://0x5db8d822:8443/',
  ]) {
    t.is(await checkDestination(url, own), itself, url);
  }
  t.is(await checkDestination('https://93.184.216.35/', own), null);
});

test('R56: on a local trial installation, another loopback port is refused as not public, and the message names the operator’s setting', async (t) => {
  const judging = { allow: [], resolve: noDns, setting: 'PUNCTUAL_EGRESS_ALLOW_WEBHOOKS' };
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    const own = { ...judging, ownUrl: `http://${host}:3000` };
    const beside = await checkDestination(`http://${host}:4567/hook`, own);
    t.regex(beside ?? '', /not public https.*PUNCTUAL_EGRESS_ALLOW_WEBHOOKS/v, host);
    t.is(await checkDestination(`http://${host}:3000/hook`, own), itself, host);
    const opened = parseAllowList('127.0.0.1/32:4567,[::1]/128:4567');
    if (host !== 'localhost') {
      t.is(await checkDestination(`http://${host}:4567/`, { ...own, allow: opened }), null, host);
    }
  }
});

test('R56: a request that must not lead back to the service is refused', async (t) => {
  const { dialled, connectTo } = recordingConnector();
  const egress = testEgress(t, { ownUrl, connectTo, resolve: open });

  for (const url of ownUrls) {
    t.is(await failure(t, egress.request(post(url, { notToSelf: true }))), 'blocked_destination');
  }
  t.deepEqual(dialled, []);

  for (const url of otherUrls) {
    const answer = egress.request(post(url, { notToSelf: true }));
    t.is(await failure(t, answer), 'connection_refused', url);
  }
  t.is(dialled.length, otherUrls.length);
});

test('R56: other requests may: to a file of the service’s own library, or a network on the same host', async (t) => {
  const { dialled, connectTo } = recordingConnector();
  const egress = testEgress(t, { ownUrl, connectTo, resolve: open });

  t.is(await failure(t, egress.request(post(ownUrl))), 'connection_refused');
  t.is(dialled.length, 1);
});

test('R56: an operator may open the service’s own host by its address', async (t) => {
  const server = await rawServer(t, answering(okay));
  const list = `127.0.0.1/32:${server.port}`;
  const own = {
    ownUrl: 'https://punctual.internal',
    resolve: dns({ 'punctual.internal': ['127.0.0.1'] }),
  };
  const url = `http://punctual.internal:${server.port}/`;

  t.is(await checkDestination(url, { allow: parseAllowList(list), ...own }), null);
  const egress = testEgress(t, { allow: list, ...own });
  t.like(await egress.request(post(url, { notToSelf: true })), { status: 200 });
  const elsewhere = { ...own, resolve: dns({ 'punctual.internal': ['93.184.216.34'] }) };
  t.is(await checkDestination(url, { allow: parseAllowList(list), ...elsewhere }), itself);
});

const known = '64:ff9b::/96';
const own = '2600:1f18:64::/96';

/** The result of a request to a name with these addresses, and the addresses that were dialled for it. */
async function outcome(t: ExecutionContext, named: readonly string[], prefixes: string) {
  const resolve = dns({ 'hook.example.com': named });
  const { dialled, connectTo } = recordingConnector();
  const nat64 = parseNat64Prefixes(prefixes);
  const egress = testEgress(t, { connectTo, resolve, nat64 });
  const refusal = await checkDestination(hook, { resolve, allow: [], nat64 });
  return { code: await failure(t, egress.request(post(hook))), dialled, isTaken: refusal === null };
}

test('behind DNS64 an IPv4-only receiver is reached by its synthesised address', async (t) => {
  // 8.8.8.8, untranslated and translated.
  const both = ['8.8.8.8', '64:ff9b::808:808'];
  const told = await outcome(t, both, known);
  t.deepEqual(told, { code: 'connection_refused', dialled: both, isTaken: true });

  const unknownPrefix = await outcome(t, both, '');
  t.deepEqual(unknownPrefix, { code: 'blocked_destination', dialled: [], isTaken: false });
});

test('an address that the operator’s own translator maps to an internal one is refused, although it looks public', async (t) => {
  for (const inside of ['a00:5', '7f00:1', 'a9fe:a9fe', 'c0a8:1']) {
    for (const prefix of ['2600:1f18:64::', '64:ff9b::']) {
      const told = await outcome(t, [`${prefix}${inside}`], `${known}, ${own}`);
      t.deepEqual(told, { code: 'blocked_destination', dialled: [], isTaken: false });
    }
  }
});

test('an allowed address is allowed behind NAT64 too', (t) => {
  const allow = parseAllowList('10.0.0.5/32:443');
  const nat64 = parseNat64Prefixes(known);
  t.is(checkUrl('https://[64:ff9b::a00:5]/', { allow, nat64 }), null);
  t.not(checkUrl('https://[64:ff9b::a00:6]/', { allow, nat64 }), null);
});

test('an error names an invalid prefix, or one with another length', (t) => {
  for (const wrong of ['64:ff9b::/64', '64:ff9b:1::/48', '10.0.0.0/8', '64:ff9b::1/96', 'nat64']) {
    t.throws(() => parseNat64Prefixes(`${known},${wrong}`), { message: new RegExp(wrong, 'v') });
  }
  t.deepEqual(parseNat64Prefixes(' '), []);
});
