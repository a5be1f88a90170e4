import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { buildConnector } from 'undici';
import { createAuthority, selfSigned } from './support/certificates.ts';
import { dns, egressTo, failure, post, testEgress } from './support/egress.ts';
import { httpServer, rawServer, tlsServer } from './support/servers.ts';

const authority = createAuthority();
const dayMs = 86_400_000;

const egressFor = (t: Parameters<typeof testEgress>[0], { port }: { port: number }) =>
  testEgress(t, {
    ca: authority.ca,
    allow: `127.0.0.1/32:${port}`,
    resolve: dns({ 'hook.example.com': ['127.0.0.1'] }),
  });

test('a receiver with a valid certificate is reached by name, and gets the name (SNI)', async (t) => {
  const names: unknown[] = [];
  const server = await tlsServer(t, {
    ...authority.issueFor(['hook.example.com']),
    SNICallback: (name, done) => {
      names.push(name);
      done(null);
    },
  });
  const egress = egressFor(t, server);

  t.like(await egress.request(post(`https://hook.example.com:${server.port}/`)), { status: 200 });
  t.like(await egress.request(post(`https://hook.example.com.:${server.port}/`)), { status: 200 });
  t.deepEqual([...new Set(names)], ['hook.example.com']);
});

test('a receiver with a certificate for its address is reached by the address', async (t) => {
  const server = await tlsServer(t, authority.issueFor(['127.0.0.1']));
  const egress = egressFor(t, server);

  t.like(await egress.request(post(`https://127.0.0.1:${server.port}/`)), { status: 200 });
});

test('a receiver at an IPv6 address must have a certificate for its address, not for a name', async (t) => {
  const server = await tlsServer(t, authority.issueFor(['127.0.0.1']));
  const dial = buildConnector({ ca: authority.ca, allowH2: false });
  const egress = testEgress(t, {
    allow: `127.0.0.1/32:${server.port},[2001:db8::1]/128:${server.port}`,
    // The machine may lack IPv6, so the same options connect to an IPv4 address.
    connectTo: () => (options, callback) => {
      t.is(options.hostname, '2001:db8::1');
      dial({ ...options, hostname: '127.0.0.1' }, callback);
    },
  });

  t.like(await egress.request(post(`https://[2001:db8::1]:${server.port}/`)), { status: 200 });
});

const untrusted = {
  'for another name': () => authority.issueFor(['other.example.com']),
  'for its address alone': () => authority.issueFor(['127.0.0.1']),
  'that is self-signed': () => selfSigned('hook.example.com'),
  'that has expired': () =>
    authority.issueFor(['hook.example.com'], {
      fromMs: Date.now() - 2 * dayMs,
      untilMs: Date.now() - dayMs,
    }),
  'that is not valid yet': () =>
    authority.issueFor(['hook.example.com'], {
      fromMs: Date.now() + dayMs,
      untilMs: Date.now() + 2 * dayMs,
    }),
};
const codes: Record<string, string> = { 'that has expired': 'certificate_expired' };
for (const [name, issue] of Object.entries(untrusted)) {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`a certificate ${name} (${maxVersion}) is never trusted, and no byte is sent`, async (t) => {
      const received: unknown[] = [];
      const server = await tlsServer(t, { ...issue(), maxVersion }, (socket) =>
        socket.on('data', (chunk) => received.push(chunk)),
      );
      const egress = egressFor(t, server);

      // Several times, because a resumed session would skip the check of the certificate's name.
      for (let count = 0; count < 3; count += 1) {
        const request = post(`https://hook.example.com:${server.port}/`);
        t.is(await failure(t, egress.request(request)), codes[name] ?? 'tls_error');
      }
      t.deepEqual(received, []);
    });
  }
}

test('a certificate authority that the system does not have is not trusted', async (t) => {
  const server = await tlsServer(t, authority.issueFor(['127.0.0.1']));

  t.is(
    await failure(t, egressTo(t, server).request(post(`https://127.0.0.1:${server.port}/`))),
    'tls_error',
  );
});

test('TLS 1.1 and plain text behind https are TLS errors', async (t) => {
  const plain = await rawServer(t, (socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'));
  const old = await tlsServer(t, {
    ...authority.issueFor(['hook.example.com']),
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  });

  for (const server of [plain, old]) {
    const request = post(`https://hook.example.com:${server.port}/`);
    t.is(await failure(t, egressFor(t, server).request(request)), 'tls_error');
  }
});

test('a handshake that stalls: a timeout on time, certainly not sent', async (t) => {
  const server = await rawServer(t, () => {});
  const request = post(`https://hook.example.com:${server.port}/`, { timeoutMs: 300 });

  t.is(await failure(t, egressFor(t, server).request(request)), 'timeout');
});

test('a handshake that breaks off: a reset, certainly not sent', async (t) => {
  const server = await rawServer(t, (socket) => socket.once('data', () => socket.end()));
  const request = post(`https://hook.example.com:${server.port}/`);

  t.is(await failure(t, egressFor(t, server).request(request)), 'connection_reset');
});

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`a receiver that sends before the request (${maxVersion}) gets one connection`, async (t) => {
    const server = await tlsServer(
      t,
      { ...authority.issueFor(['hook.example.com']), maxVersion },
      (socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'),
    );
    const request = post(`https://hook.example.com:${server.port}/`);

    t.regex(await failure(t, egressFor(t, server).request(request)), /^invalid_response/v);
    t.is(server.connections, 1);
  });
}

const source = (name: string) =>
  new URL(`../../../runtime/egress/${name}.ts`, import.meta.url).href;

/** Requests a URL in a process with this environment. Returns the answer's body, or the code of the failure. */
async function ask(url: string, port: number, env: Readonly<Record<string, string>>) {
  const script = `
    import { createEgress } from '${source('create-egress')}';
    import { parseAllowList } from '${source('addresses')}';

    const egress = createEgress({ allow: parseAllowList('127.0.0.1/32:${port}') });
    const request = { method: 'GET', url: '${url}', timeoutMs: 60000, maxBytes: 100 };
    process.stdout.write(await egress.request(request).then(({ body }) => body, ({ code }) => code));
    await egress.close();
  `;
  const args = ['--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { PATH: process.env['PATH'], ...env },
  });
  return stdout;
}

test('proxies from the environment are not used', async (t) => {
  const proxy = await httpServer(t, (_request, response) => response.end('proxy'));
  const server = await httpServer(t, (_request, response) => response.end('receiver'));
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy'];
  const proxies = names.map((name) => [name, `http://127.0.0.1:${proxy.port}`]);
  const env = { NODE_USE_ENV_PROXY: '1', ...Object.fromEntries(proxies) };

  t.is(await ask(`http://127.0.0.1:${server.port}/`, server.port, env), 'receiver');
  t.is(proxy.connections, 0);
});

test('the environment cannot disable the check of certificates', async (t) => {
  const { port } = await tlsServer(t, selfSigned('127.0.0.1'));
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };

  t.is(await ask(`https://127.0.0.1:${port}/`, port, env), 'tls_error');
});
