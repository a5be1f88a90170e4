import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';

/**
 * The address that the Web UI itself listens on. The UI accepts any host name, so a page could reach it by DNS
 * rebinding. On Linux, all of 127.0.0.0/8 is the loopback, and a random address cannot be guessed.
 */
export const innerUiAddress = (): string =>
  process.platform === 'linux'
    ? `127.${randomInt(1, 255)}.${randomInt(0, 256)}.${randomInt(1, 255)}`
    : '127.0.0.1';

/** Forwards requests for `127.0.0.1:port` or `localhost:port` to the Web UI and refuses every other host name. */
export async function openUi(
  port: number,
  inner: { readonly address: string; readonly port: number },
): Promise<{ close(): unknown }> {
  const hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`]);
  const server = createServer((asked, answer) => {
    if (!hosts.has(asked.headers.host ?? '')) {
      answer.writeHead(421, { 'content-type': 'text/plain' });
      answer.end(`Temporal's Web UI is only available at http://127.0.0.1:${port}.\n`);
      return;
    }

    const { method, url, headers } = asked;
    const passed = request(
      { host: inner.address, port: inner.port, method, path: url, headers },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      },
    );
    passed.on('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
  server.listen(port, '127.0.0.1').unref();
  await once(server, 'listening');
  return server;
}
