import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { ourDocument } from '../support/contract.ts';
import { sharedApi } from '../support/kit.ts';
import { rawCall } from '../support/raw-call.ts';

const api = sharedApi(test);

const markdown = { headers: { accept: 'text/markdown, text/html;q=0.9' } };

test('the reference and all its files are served by this server, with their types', async (t) => {
  const { url } = api.punctual;
  const page = await rawCall(`${url}/docs`);
  t.is(page.status, 200);
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');

  const html = String(page.body);
  const loaded = linksIn(html);
  t.true(loaded.length >= 5);
  const types: Record<string, string> = {
    js: 'text/javascript; charset=utf-8',
    svg: 'image/svg+xml',
    json: 'application/json; charset=utf-8',
    txt: 'text/plain; charset=utf-8',
  };
  for (const path of loaded) {
    t.regex(path, /^\/[^\/]/v, 'is on this server');
    const reply = await rawCall(url + path);
    t.is(reply.status, 200, path);
    const type = types[path.split('.')[1] ?? ''] ?? 'text/html; charset=utf-8';
    t.is(reply.headers.get('content-type'), type, path);
    t.is(reply.headers.get('x-content-type-options'), 'nosniff', path);
  }
});

test('the reference runs only scripts with the nonce of this answer, and guides run none', async (t) => {
  const { url } = api.punctual;
  const nonces = new Set<string>();
  for (const path of ['/docs', '/docs', '/docs/guides/webhooks']) {
    const page = await rawCall(url + path);
    const policy = page.headers.get('content-security-policy') ?? '';
    t.regex(policy, /default-src 'none'.*frame-ancestors 'none'/v);
    t.notRegex(policy, /unsafe-eval|\*|http|script-src[^;]*unsafe|script-src 'self'/v);
    const html = String(page.body);
    t.notRegex(html, /<script>|<style|\son\w+=|style=/v, 'nothing inline');
    const [, nonce] = /script-src 'nonce-([^']+)'/v.exec(policy) ?? [];
    if (path === '/docs') {
      t.is(html.split(`<script nonce="${nonce}"`).length, 3);
      nonces.add(nonce ?? '');
    } else {
      t.is(nonce, undefined);
      t.false(html.includes('<script'));
    }
  }

  t.is(nonces.size, 2);
});

test('each link of each page of the documentation leads somewhere', async (t) => {
  const { url } = api.punctual;
  const overview = String((await rawCall(`${url}/llms.txt`)).body);
  const texts = [...overview.matchAll(/\]\((?<path>[^\)]+)\)/gv)].map((m) => m[1] ?? '');
  const bodies = new Map<string, string>();
  const open = async (path: string): Promise<string> => {
    if (!bodies.has(path)) {
      const { status, headers, body } = await rawCall(url + path, { redirect: 'manual' });
      t.true(
        status === 200 || (status === 302 && headers.get('location')?.startsWith('/docs#')),
        path,
      );
      bodies.set(path, String(body));
    }

    return bodies.get(path) ?? '';
  };
  const pages = texts.filter((path) => /^\/docs\/.*\.md$/v.test(path));
  t.true(pages.length > 60);
  for (const file of pages) {
    t.true((await open(file)).startsWith('# '), file);
    const page = file.replace(/\.md$/v, '');
    const asked = await rawCall(url + page, markdown);
    t.is(asked.body, bodies.get(file), file);
    t.is(asked.headers.get('vary'), 'Accept');
    for (const [, to = ''] of String(asked.body).matchAll(/\]\((?!\w+:)([^\)#]+\.md)/gv)) {
      const { pathname } = new URL(to, `http://docs${file}`);
      if (pathname.startsWith('/docs/')) {
        await open(pathname);
      }
    }
    for (const link of linksIn(await open(page)).filter((one) => !one.startsWith('http'))) {
      const [to = '', anchor] = link.split('#');
      const target = await open(to);
      t.true(anchor === undefined || target.includes(` id="${anchor}"`), `${file}: ${link}`);
    }
  }
});

test('a language model gets every call in Markdown, with samples in three languages', async (t) => {
  const { url } = api.punctual;
  for (const item of Object.values(ourDocument().paths)) {
    for (const { operationId, tags } of Object.values(item)) {
      const page = String((await rawCall(`${url}/docs/${operationId}.md`)).body);
      const fences = [...page.matchAll(/^```(?<language>\w+)$/gmv)].map((m) => m[1]);
      t.deepEqual(fences.slice(-3), ['shell', 'typescript', 'python'], operationId);
      const reply = await rawCall(`${url}/docs/${operationId}`, { redirect: 'manual' });
      t.is(reply.headers.get('location'), `/docs#tag/${tags[0]?.toLowerCase()}/${operationId}`);
    }
  }
  const create = String((await rawCall(`${url}/docs/createPost.md`)).body);
  t.regex(create, /`POST \/api\/v1\/posts`.*- `timezone` \(string.*\*\*201\*\*/sv);
  const list = String((await rawCall(`${url}/docs/listPosts.md`)).body);
  t.regex(list, /`date_field` \(query, .*; default: "scheduled_at"\)/v);
  t.regex(list, /`limit` \(query, integer; default: 100\)/v);
  t.is(
    String((await rawCall(`${url}/docs`, markdown)).body)
      .split('\n')[0]
      ?.slice(0, 10),
    '# Punctual',
  );
});

test('no path under /docs leads to another file', async (t) => {
  const { url } = api.punctual;
  const names = [
    'package.json',
    'index.html',
    'routes.ts',
    'guides/../routes',
    'constructor',
    '__proto__',
  ];
  const climbs = [
    '../routes.ts',
    '..%2Froutes.ts',
    '%2e%2e/routes.ts',
    '..%5croutes.ts',
    'a/../../x',
  ];
  for (const name of [...names, ...climbs, '%00', 'start.js%00', '.', '', '%']) {
    const status = await rawStatus(url, `/docs/${name}`);
    // The path with a slash at the end is the page itself.
    t.is(status, name === '' ? 200 : 404, name);
  }
});

test('the root lists addresses for a program, and sends a browser to the docs', async (t) => {
  const { url } = api.punctual;
  const { version } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  for (const accept of ['*/*', 'application/json']) {
    const { status, body } = await rawCall(url, { headers: { accept } });
    t.is(status, 200, accept);
    t.like(body, { name: 'Punctual', version });
    const { info } = (await rawCall(url + body.openapi)).body;
    t.is(info.version, version);
    for (const path of [body.docs, body.guides, body.llms, body.openapi, body.health]) {
      t.is((await rawCall(url + path)).status, 200, path);
    }
  }

  const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
  const reply = await rawCall(url, { headers: browser, redirect: 'manual' });
  t.is(reply.status, 302);
  t.is(reply.headers.get('location'), '/docs');
  t.is(reply.headers.get('vary'), 'Accept');
});

const linksIn = (html: string): string[] =>
  [...html.matchAll(/(?:src|href)="(?<path>[^"]+)"/gv)].map((m) => m[1] ?? '');

/** Requests the literal path: `fetch` would resolve its dots. */
async function rawStatus(url: string, path: string): Promise<number | undefined> {
  const { hostname, port } = new URL(url);
  const sent = request({ hostname, port, path });
  const answer = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject).end();
  });
  await text(answer);
  return answer.statusCode;
}
