import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { selfSigned } from './support/certificates.ts';
import { httpServer, tlsServer } from './support/servers.ts';

const source = (name: string) =>
  new URL(`../../../runtime/egress/${name}.ts`, import.meta.url).href;

/** Asks for a URL in a process with this environment; the answer's body, or the code of the failure. */
async function ask(url: string, port: number, env: Readonly<Record<string, string>>) {
  const script = `
    import { createEgress } from '${source('create-egress')}';
    import { parseAllowList } from '${source('allow-list')}';

    const egress = createEgress({ allow: parseAllowList('127.0.0.1/32:${port}') });
    const request = { method: 'GET', url: '${url}', timeoutMs: 5000, maxBytes: 100 };
    process.stdout.write(await egress.request(request).then(({ body }) => body, ({ code }) => code));
    await egress.close();
  `;
  const args = ['--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { PATH: process.env['PATH'], ...env },
  });
  return stdout;
}

test('proxies of the environment are not used', async (t) => {
  const proxy = await httpServer(t, (_request, response) => response.end('proxy'));
  const server = await httpServer(t, (_request, response) => response.end('receiver'));
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy'];
  const proxies = names.map((name) => [name, `http://127.0.0.1:${proxy.port}`]);
  const env = { NODE_USE_ENV_PROXY: '1', ...Object.fromEntries(proxies) };

  t.is(await ask(`http://127.0.0.1:${server.port}/`, server.port, env), 'receiver');
  t.is(proxy.connections, 0);
});

test('the environment cannot switch the look at certificates off', async (t) => {
  const { port } = await tlsServer(t, selfSigned('127.0.0.1'));
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };

  t.is(await ask(`https://127.0.0.1:${port}/`, port, env), 'tls_error');
});
