import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { ExecutionContext } from 'ava';
import { createAuthority } from '../../../runtime/egress/support/certificates.ts';
import { listening } from '../../../support/listening.ts';

const authority = createAuthority();
const host = authority.issueFor(['127.0.0.1', 'localhost']);

/** The certificate authority of every server here. */
export const { ca } = authority;

/** Responses by path: a file's bytes or a listener. Any other path is 404. */
export type Answers = Readonly<Record<string, Uint8Array | RequestListener>>;

/** A part of a file server for one test. */
export type Site = {
  /** The URL of a path. */
  readonly at: (path: string) => string;
  /** The requested paths. */
  readonly asked: string[];
};

export type FileServer = {
  readonly port: number;
  readonly newSite: (answers: Answers) => Site;
};

/** An https server on 127.0.0.1 that closes with the test. */
export async function fileServer(t: ExecutionContext): Promise<FileServer> {
  const sites = new Map<string, { readonly answers: Answers; readonly asked: string[] }>();
  const server = createServer(host, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'https://127.0.0.1');
    const [, name = '', path = ''] = /^\/([^\/]+)(\/.*)$/v.exec(pathname) ?? [];
    const site = sites.get(name);
    site?.asked.push(path);
    const answer = site?.answers[path];
    if (typeof answer === 'function') {
      answer(request, response);
    } else {
      response.writeHead(answer ? 200 : 404).end(answer);
    }
  });
  const port = await listening(t, server);
  const newSite = (answers: Answers): Site => {
    const name = `site-${sites.size}`;
    const asked: string[] = [];
    sites.set(name, { answers, asked });
    return { asked, at: (path) => `https://127.0.0.1:${port}/${name}${path}` };
  };
  return { port, newSite };
}
