import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import test from 'ava';
import { probeServer } from '../../../runtime/egress/probe-server.ts';
import { failure, post, recordingConnector, testEgress } from './support/egress.ts';
import { createAuthority } from './support/certificates.ts';
import { httpServer, tlsServer } from './support/servers.ts';
import { listening } from '../../support/listening.ts';

const name = 'hook.example.com';
const dead = ['127.0.0.2', '127.0.0.3'];

test('dead addresses of a name do not hide a live one, and the request is sent once', async (t) => {
  const server = await httpServer(t, (_request, response) => response.end());
  const allow = `127.0.0.0/8:${server.port}`;
  const egress = testEgress(t, { allow, resolve: async () => [...dead, '127.0.0.1'] });

  t.like(await egress.request(post(`http://${name}:${server.port}/`)), { status: 200 });
  t.is(server.requests.length, 1);
});

test('behind dead addresses too, the certificate must be for the name', async (t) => {
  const authority = createAuthority();
  const outcomeOf = async (issuedFor: string) => {
    const { port } = await tlsServer(t, authority.issueFor([issuedFor]));
    const allow = `127.0.0.0/8:${port}`;
    const resolve = async () => [...dead, '127.0.0.1'];
    const egress = testEgress(t, { ca: authority.ca, allow, resolve });
    const answer = egress.request(post(`https://${name}:${port}/`));
    return answer.then(
      ({ status }) => status,
      ({ code }) => code,
    );
  };

  t.deepEqual([await outcomeOf(name), await outcomeOf('other.example.com')], [200, 'tls_error']);
});

test('if no address answers, the request was certainly not sent', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const egress = testEgress(t, { allow: `127.0.0.0/8:${port}`, resolve: async () => dead });

  t.is(await failure(t, egress.request(post(`http://${name}:${port}/`))), 'connection_refused');
});

test('at most eight addresses of a name are dialled', async (t) => {
  const { dialled, connectTo } = recordingConnector();
  const many = Array.from({ length: 12 }, (_, last) => `8.8.8.${last}`);
  const egress = testEgress(t, { connectTo, resolve: async () => many });

  t.is(await failure(t, egress.request(post(`https://${name}/`))), 'connection_refused');
  t.deepEqual(dialled, many.slice(0, 8));
});

test('a server that closes accepted connections counts as unreachable, not as one without TLS', async (t) => {
  const server = createServer((socket) => socket.destroy());
  const port = await listening(t, server);
  t.deepEqual(await probeServer('127.0.0.1', port, {}), {
    kind: 'unreachable',
    said: 'the connection was closed',
  });
});
