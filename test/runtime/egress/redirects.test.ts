import { buffer } from 'node:stream/consumers';
import test from 'ava';
import type { DownloadRequest } from '../../../runtime/egress/download.ts';
import { createAuthority } from './support/certificates.ts';
import { dns, egressTo, failure, recordingConnector, testEgress } from './support/egress.ts';
import { answering, httpServer, rawServer, tlsServer } from './support/servers.ts';

const at = ({ port }: { port: number }, path = '/') => `http://127.0.0.1:${port}${path}`;
const file = (url: string): DownloadRequest => ({
  url,
  maxBytes: 1000,
  stallMs: 5000,
  timeoutMs: 10_000,
  maxRedirects: 3,
});
const redirect = (to: string) =>
  `HTTP/1.1 302 Found\r\nlocation: ${to}\r\ncontent-length: 0\r\n\r\n`;

test('A20: three redirects are followed, relative ones too; the fourth is refused', async (t) => {
  const server = await httpServer(t, ({ url = '' }, response) => {
    const count = Number(url.slice(1));
    response.writeHead(count > 0 ? 302 : 200, count > 0 ? { location: `/${count - 1}` } : {});
    response.end('picture');
  });
  const egress = egressTo(t, server);
  const found = await egress.download(file(at(server, '/3')));

  t.is(found.url, at(server, '/0'));
  t.is((await buffer(found.body)).toString(), 'picture');
  const error = await t.throwsAsync(egress.download(file(at(server, '/4'))));
  t.like(error, { code: 'invalid_response', message: 'It redirects more than 3 times.' });
  t.is(server.requests.length, 8);
});

test('A20: a redirect from https to https of another name is followed, with the certificate of each', async (t) => {
  const authority = createAuthority();
  const picture = 'HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\npicture';
  const cdn = await tlsServer(t, authority.issueFor(['cdn.example.net']), answering(picture));
  const first = await tlsServer(
    t,
    authority.issueFor(['files.example.com']),
    answering(redirect(`https://cdn.example.net:${cdn.port}/a.png`)),
  );
  const egress = testEgress(t, {
    ca: authority.ca,
    allow: `127.0.0.1/32:${first.port},127.0.0.1/32:${cdn.port}`,
    resolve: dns({ 'files.example.com': ['127.0.0.1'], 'cdn.example.net': ['127.0.0.1'] }),
  });
  const found = await egress.download(file(`https://files.example.com:${first.port}/a.png`));

  t.is((await buffer(found.body)).toString(), 'picture');
});

const traps = {
  'a private address': 'https://10.0.0.1/',
  'the metadata of a cloud': 'https://169.254.169.254/latest',
  'the metadata of a cloud, over plain http': 'http://169.254.169.254/',
  'the IPv6 loopback': 'https://[::1]/',
  'a mapped address': 'https://[::ffff:127.0.0.1]/',
  'an address in decimal': 'https://2130706433/',
  'a name that leads to a private address': 'https://inside.example.com/',
  'plain http': 'http://files.example.com/',
  'another port of this machine': 'https://127.0.0.1:1/',
  'another scheme': 'file:///etc/passwd',
  'an address with a user': 'https://user@files.example.com/',
  'an address with a password': 'https://me:secret@files.example.com/',
  'no address at all': 'https://',
};
for (const [name, to] of Object.entries(traps)) {
  test(`R71: a redirect to ${name} is refused, and nothing is dialled for it`, async (t) => {
    const server = await rawServer(t, answering(redirect(to)));
    const { connect, dialled } = recordingConnector(server.port);
    const egress = testEgress(t, {
      allow: `127.0.0.1/32:${server.port}`,
      connect,
      resolve: dns({
        'inside.example.com': ['192.168.1.1'],
        'files.example.com': ['93.184.216.34'],
      }),
    });

    t.regex(await failure(t, egress.download(file(at(server)))), /^blocked_destination/v);
    t.deepEqual(dialled, ['127.0.0.1']);
  });
}

test('R71: a circle of redirects ends after the third', async (t) => {
  const server = await httpServer(t, (_request, response) =>
    response.writeHead(302, { location: '/' }).end(),
  );

  const code = await failure(t, egressTo(t, server).download(file(at(server))));
  t.is(code, 'invalid_response, maybe sent');
  t.is(server.requests.length, 4);
});
