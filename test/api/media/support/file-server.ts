import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { createAuthority } from '../../../runtime/egress/support/certificates.ts';

const authority = createAuthority();
const host = authority.issueFor(['127.0.0.1', 'localhost']);

/** The authority that vouches for every server here. */
export const { ca } = authority;

export type FileServer = {
  readonly port: number;
  /** The address of a path. */
  readonly at: (path: string) => string;
  /** The paths that were asked for. */
  readonly asked: string[];
};

/** An https server on 127.0.0.1, which ends with the test. */
export async function fileServer(
  t: ExecutionContext,
  answers: Readonly<Record<string, Uint8Array | RequestListener>>,
): Promise<FileServer> {
  const asked: string[] = [];
  const server = createServer(host, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'https://127.0.0.1');
    asked.push(request.url ?? '');
    const answer = answers[pathname];
    if (typeof answer === 'function') {
      answer(request, response);
    } else {
      response.writeHead(answer ? 200 : 404).end(answer);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, asked, at: (path) => `https://127.0.0.1:${port}${path}` };
}
