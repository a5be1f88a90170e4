import test from 'ava';
import { parseAllowList } from '../../../runtime/egress/allow-list.ts';
import { checkDestination } from '../../../runtime/egress/check-url.ts';
import { dns, failure, noDns, post, recordingConnector, testEgress } from './support/egress.ts';
import { answering, okay, rawServer } from './support/servers.ts';
import { otherUrls, ownUrl, ownUrls } from './support/urls.ts';

const itself = 'The URL leads to this service itself.';
const resolve = async () => ['93.184.216.34'];

test('R56: the service’s own host is refused in every spelling and at every port, and DNS is not asked', async (t) => {
  for (const url of ownUrls) {
    t.is(await checkDestination(url, { allow: [], resolve: noDns, ownUrl }), itself, url);
  }
});

test('R56: other hosts are none of its own, nor is any where the service knows none', async (t) => {
  for (const url of otherUrls) {
    t.is(await checkDestination(url, { allow: [], resolve, ownUrl }), null, url);
  }
  for (const url of ownUrls) {
    t.is(await checkDestination(url, { allow: [], resolve }), null, url);
  }
});

test('R56: an address of its own is refused in every spelling', async (t) => {
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

test('R56: a request that must not lead back to the service does not', async (t) => {
  const { dialled, connect } = recordingConnector();
  const egress = testEgress(t, { ownUrl, connect, resolve });

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

test('R56: another request may: a file of the service’s own library, or a network on the same host', async (t) => {
  const { dialled, connect } = recordingConnector();
  const egress = testEgress(t, { ownUrl, connect, resolve });

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
